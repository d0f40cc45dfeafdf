#![doc = include_str!("../README.md")]

pub mod json;
pub mod model;
pub mod time;

mod fields;
mod issue_list;
mod issues;
mod lookup;
mod offer;
mod person;
mod read;
mod validate;
mod yaml;

pub use issue_list::{ISSUES_BYTES_MAX, ISSUES_MAX, IssueList, shown};
pub use lookup::{CHECK, PARALLEL};
pub use model::*;
pub use offer::Offer;
pub use person::{person_valid, same_person};
pub use read::FILE_BYTES_MAX;
