//! The `OpenAPI` document: what the routes say of themselves, and what is true of each.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder,
    SecurityRequirement,
};

use super::model::DoorBody;

/// What any call may be answered with, whatever it asks: status, when, and the schema of the body.
const EVERYWHERE: [(&str, &str, &str); 3] = [
    ("401", "No bearer token, or one that is not valid here", "DoorBody"),
    ("500", "The catalog cannot be read; the log of the node tells more", "ErrorBody"),
    (
        "503",
        "No answer in time (or, as DoorBody, the issuer's keys are not to be had): make the same call again",
        "ErrorBody",
    ),
];

/// The document of these routes.
pub(super) fn finish(mut routes: OpenApi) -> OpenApi {
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build());
    let info = InfoBuilder::new().title("Quorate administration").version(env!("CARGO_PKG_VERSION")).description(Some(
        "For human operators: every call needs the bearer token of one, and acts in their organization.",
    ));
    let components = ComponentsBuilder::new().security_scheme("bearer", bearer).schema_from::<DoorBody>().build();
    let mut whole = OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new("bearer", Vec::<String>::new())]))
        .build();
    for item in routes.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten() {
            for (status, when, schema) in EVERYWHERE {
                let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build();
                let response = ResponseBuilder::new().description(when).content("application/json", content).build();
                operation.responses.responses.insert(status.to_owned(), RefOr::T(response));
            }
        }
    }
    whole.merge(routes);
    whole
}
