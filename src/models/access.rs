//! How models, servers and programs are reached, and how much is read: what no result depends on.

use std::sync::Arc;
use std::time::Duration;

use teda_datasets::Limits;
use teda_mechanisms::Children;
use teda_server::{Budget, LARGEST_ANSWER};

/// How models and programs are reached and run; nothing here can change a result.
#[derive(Clone)]
pub struct Access {
    /// Whether the network may not be used to fetch models.
    pub offline: bool,
    /// No progress of downloads on standard error.
    pub quiet: bool,
    /// Bytes for the keys and values of language models; the tables of mechanisms get a share of as many more.
    pub memory: usize,
    /// What may be spent on servers.
    pub budget: Budget,
    /// How programs that stand for mechanisms are run.
    pub programs: Programs,
    /// How large an input may be.
    pub limits: Limits,
    /// Bytes of a server's answer at most.
    pub largest_answer: u64,
    /// Is told what is loaded.
    pub say: Say,
}

/// Takes a line for the user.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

impl Default for Access {
    /// No download, two gibibytes, no limit to what servers may cost, the usual ones to what is read, and not a word.
    fn default() -> Self {
        Self {
            offline: true,
            quiet: true,
            memory: 2048 << 20,
            budget: Budget {
                max_requests: None,
                max_tokens: None,
            },
            programs: Programs::default(),
            limits: Limits::default(),
            largest_answer: LARGEST_ANSWER,
            say: Arc::new(|_| ()),
        }
    }
}

/// How programs are run; nothing here can change a result of one that keeps to the protocol.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Processes of a command at once; one a thread where none is said.
    pub processes: Option<usize>,
    /// How long a process may be silent.
    pub timeout: Duration,
    /// Where processes are known while they run, for whoever has to end this one at once.
    pub children: Children,
}

impl Default for Programs {
    /// A process a thread, and ten minutes.
    fn default() -> Self {
        Self {
            processes: None,
            timeout: Duration::from_secs(600),
            children: Children::default(),
        }
    }
}

impl Access {
    /// As the store of models wants it.
    pub(super) fn store(&self) -> teda_hub::Options {
        teda_hub::Options {
            offline: self.offline,
            quiet: self.quiet,
        }
    }
}
