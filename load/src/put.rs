//! Puts as etcd's own clients send them, over gRPC.

use std::time::Duration;

use tonic::Request;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use crate::Error;

/// How long a put may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A connection to a node of etcd.
#[derive(Clone)]
pub struct Put(Grpc<Channel>);

/// `etcdserverpb.PutRequest`, as far as it is used.
#[derive(Clone, PartialEq, prost::Message)]
struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `etcdserverpb.PutResponse`, as far as it is used.
#[derive(Clone, PartialEq, prost::Message)]
struct PutResponse {}

impl Put {
    /// Connects to a node.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Ok(Self(Grpc::new(Endpoint::from_shared(url.to_owned())?.timeout(LIMIT).tcp_nodelay(true).connect().await?)))
    }

    /// Puts a value.
    pub async fn put(&mut self, key: String, value: Vec<u8>) -> Result<(), Error> {
        self.0.ready().await?;
        let put = Request::new(PutRequest { key: key.into_bytes(), value });
        let path = PathAndQuery::from_static("/etcdserverpb.KV/Put");
        self.0.unary(put, path, ProstCodec::<PutRequest, PutResponse>::default()).await?;
        Ok(())
    }
}
