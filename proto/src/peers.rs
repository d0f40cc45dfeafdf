//! What nodes say to each other: made from `peers/peers.proto`.
#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

tonic::include_proto!("quorate.peers.v1");
