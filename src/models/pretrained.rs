//! Encoders that are fine-tuned, by their names.

use teda_core::{Error, Result};
use teda_models::builtin;
use teda_models::fine_tune::Pretrained;

use super::Models;
use super::access::Access;
use super::records::shipped;
use super::spec::{Spec, Target};

impl Models {
    /// The encoder that `name`, the value of `--classifier`, names, to be fine-tuned.
    ///
    /// # Errors
    /// Usage, for an unknown name or a model on a server; failed, if it cannot be obtained or is of another kind.
    pub(crate) fn load_pretrained(&mut self, name: &str, access: &Access) -> Result<Pretrained> {
        let spec = Spec::parse("--classifier", name)?;
        spec.takes(&[])?;
        spec.check_name()?;
        match &spec.target {
            Target::Builtin => {
                self.record(shipped(builtin::Model::Infill));
                builtin::pretrained()
            }
            Target::Stored(name) => Pretrained::new(self.open(name, access)?.0),
            Target::Automatic | Target::Server(_) => Err(Error::usage(format!(
                "--classifier {name}: only a model run in this process is fine-tuned: give logistic-regression, builtin, an encoder of `teda models list`, a repository of the hub (org/name), or a path"
            ))),
        }
    }
}
