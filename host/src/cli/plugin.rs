//! `wasmill plugin ..`

use crate::error::Result;
use crate::wasm::ScaffoldKind;
use clap::Subcommand;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub enum PluginCommand {
    /// Say what a plugin file is: ABI version, functions with types, imports, memory, and whether it would be accepted
    Inspect {
        /// The .wasm file
        file: PathBuf,
    },
    /// Make a plugin project that builds and runs at once
    New {
        /// The folder to make, and the plugin's name
        name: PathBuf,
        /// The language
        #[arg(long, default_value = "rust")]
        lang: String,
        /// What the plugin does
        #[arg(long, value_enum, default_value = "scalar")]
        kind: Kind,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Kind {
    /// Functions of one row
    Scalar,
    /// Records of a source into rows
    Decoder,
}

pub fn plugin(command: PluginCommand) -> Result<ExitCode> {
    match command {
        PluginCommand::Inspect { file } => {
            super::print(&crate::wasm::inspect(&file)?)?;
            Ok(ExitCode::SUCCESS)
        }
        PluginCommand::New { name, lang, kind } => {
            let parent = name.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = name.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            let kind = match kind {
                Kind::Scalar => ScaffoldKind::Scalar,
                Kind::Decoder => ScaffoldKind::Decoder,
            };
            let made = crate::wasm::scaffold(parent, &lang, kind, folder)?;
            println!("made {}\n\n{}", made.folder.display(), made.next_steps.trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}
