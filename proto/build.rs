//! Makes the types of `peers/peers.proto` when the feature `peers` asks for them. No `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=peers");
    #[cfg(feature = "peers")]
    {
        let files = protox::compile(["peers/peers.proto"], ["."])?;
        tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    }
    Ok(())
}
