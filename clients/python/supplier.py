"""Works the supplier process through the official Python client, as an agent, a person and an operator would.

    supplier.py --dev DIR/dev.json --mode legacy|modern

`legacy` is the initialize handshake (2025-11-25 and older), `modern` is 2026-07-28 without a handshake. The 1.x client
knows only the first. Exit status 0 when every expectation held.
"""

import argparse
import asyncio
import base64
import contextlib
import hashlib
import importlib.metadata
import json
import urllib.request
import uuid

CLIENT = importlib.metadata.version("mcp")


@contextlib.asynccontextmanager
async def connect(url, token, mode):
    """A connected client; `call(tool, arguments)` gives the envelope."""
    headers = {"Authorization": f"Bearer {token}"}
    if CLIENT.startswith("1."):
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url, headers=headers) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                yield session
    else:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode="legacy" if mode == "legacy" else "2026-07-28") as client:
                yield client


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    structured = getattr(result, "structuredContent", None) or getattr(result, "structured_content", None)
    is_error = getattr(result, "isError", None) or getattr(result, "is_error", None)
    assert not is_error, f"{tool}: the envelope never sets isError"
    assert len(result.content) == 1 and json.loads(result.content[0].text) == structured, f"{tool}: text and structure differ"
    return structured


def good(envelope):
    assert envelope["ok"], envelope
    return envelope["data"]


def refused(envelope, code):
    assert not envelope["ok"] and envelope["error"]["code"] == code, (code, envelope)
    return envelope["error"].get("issues", [])


def rid():
    return str(uuid.uuid4())


def filled(call_arguments):
    """The exact call the server gave, with a request id of our own."""
    return {**call_arguments, "requestId": rid()}


async def find_work(client, run_id):
    cursor = None
    while True:
        page = good(await call(client, "get_work", limit=100, **({"cursor": cursor} if cursor else {})))
        for item in page["items"]:
            if item["runId"] == run_id:
                return item
        cursor = page["nextCursor"]
        assert cursor, f"no work on {run_id}"


def fetched(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Disposition"].startswith("attachment")
        return response.read()


def without_urls(value):
    if isinstance(value, dict):
        return {k: without_urls(v) for k, v in value.items() if k != "url"}
    if isinstance(value, list):
        return [without_urls(v) for v in value]
    return value


async def story(dev, mode):
    url, tokens = dev["mcp"][0], dev["tokens"]
    async with contextlib.AsyncExitStack() as stack:
        async def enter(name):
            return await stack.enter_async_context(connect(url, tokens[name], mode))

        agent, fin, ops = await enter("agent-1"), await enter("fin@example.com"), await enter("ops@example.com")

        listed = {t.name for t in (await agent.list_tools()).tools}
        described = good(await call(agent, "describe"))
        assert listed == set(described["tools"]) and len(listed) == 14, listed
        names, cursor = {}, None
        while True:
            page = good(await call(agent, "list_processes", **({"cursor": cursor} if cursor else {})))
            names |= {p["name"]: p for p in page["items"]}
            cursor = page["nextCursor"]
            if not cursor:
                break
        assert names["supplier-onboarding"]["inputs"]["vendorName"], names

        run = good(await call(agent, "start_run", process="supplier-onboarding",
                              inputs={"vendorName": "Acme", "amount": 48000}, requestId=rid()))
        run_id = run["run"]["id"]
        assert run["run"]["state"] == "active" and run["data"]["inputs"]["amount"] == 48000

        item = await find_work(agent, run_id)
        assert item["claim"]["tool"] == "claim" and item["handoff"] is None
        claim = good(await call(agent, "claim", **filled(item["claim"]["arguments"])))
        assert claim["step"]["evidence"] == ["file"] and claim["handoff"] is None
        renewed = good(await call(agent, "renew", token=claim["token"], progress="EU list done", requestId=rid()))
        refused(await call(agent, "submit", token=claim["token"], output={}, summary="late", requestId=rid()), "stale")
        token = renewed["token"]

        issues = refused(await call(agent, "submit", token=token, output={"cleared": "yes"}, summary="Searched.", requestId=rid()), "not_accepted")
        assert "output.cleared: expected boolean" in issues and "evidence: file required" in issues, issues

        report = b"no hits \x00\xff" + run_id.encode()
        stored = good(await call(agent, "upload", fileName="report.pdf", contentType="application/pdf",
                                 contentBase64=base64.b64encode(report).decode(), requestId=rid()))
        assert stored["sha256"] == hashlib.sha256(report).hexdigest() and stored["bytes"] == len(report)

        work = {"output": {"cleared": True, "summary": "No hits."}, "evidence": [{"kind": "file", "ref": stored["id"]}],
                "summary": "Searched both lists by legal name.", "next": "approve", "reason": "Cleared on both lists."}
        submit = {"token": token, **work, "requestId": rid()}
        first = await call(agent, "submit", **submit)
        assert good(first)["run"]["state"] == "waiting"
        replay = await call(agent, "submit", **submit)
        assert without_urls(replay) == without_urls(first), "a replay is the original result"

        item = (await find_work(fin, run_id))["workItem"]
        assert item["decide"]["decisions"] == ["approved", "rejected", "failed"]
        refused(await call(agent, "decide", **filled(item["decide"]["arguments"]), decision="approved"), "forbidden")
        view = good(await call(fin, "decide", **filled(item["decide"]["arguments"]), decision="rejected", note="Which aliases?"))
        assert view["data"]["steps"]["approve"]["note"] == "Which aliases?"
        assert len(view["data"]["steps"]["check_vendor"]["history"]) == 1

        item = await find_work(agent, run_id)
        claim = good(await call(agent, "claim", **filled(item["claim"]["arguments"])))
        assert claim["data"]["steps"]["approve"]["decision"] == "rejected" and claim["handoff"] is None
        view = good(await call(agent, "escalate", token=claim["token"], note="The alias list is locked.", requestId=rid()))
        assert view["workItems"][0]["escalation"]["note"] == "The alias list is locked."

        item = (await find_work(ops, run_id))["workItem"]
        assert item["decide"]["decisions"] == ["returned", "completed", "failed"]
        good(await call(ops, "decide", **filled(item["decide"]["arguments"]), decision="returned", note="Access granted."))
        item = await find_work(agent, run_id)
        claim = good(await call(agent, "claim", **filled(item["claim"]["arguments"])))
        assert claim["handoff"]["returned"]["note"] == "Access granted."
        good(await call(agent, "submit", token=claim["token"], **work, requestId=rid()))

        item = (await find_work(fin, run_id))["workItem"]
        done = good(await call(fin, "decide", **filled(item["decide"]["arguments"]), decision="approved"))
        assert done["run"]["state"] == "ended" and done["run"]["outcome"] == "onboarded", done["run"]
        evidence = good(await call(agent, "get_run", runId=run_id))["data"]["steps"]["check_vendor"]["evidence"][0]
        assert fetched(evidence["url"]) == report
        refused(await call(ops, "cancel", runId=run_id, reason="too late", requestId=rid()), "conflict")
        return run_id


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--dev", required=True)
    arguments.add_argument("--mode", choices=["legacy", "modern"], default="legacy")
    options = arguments.parse_args()
    with open(options.dev, encoding="utf-8") as file:
        dev = json.load(file)
    run_id = asyncio.run(asyncio.wait_for(story(dev, options.mode), 60))
    print(f"python mcp {CLIENT}, {options.mode}: {run_id} onboarded")


if __name__ == "__main__":
    main()
