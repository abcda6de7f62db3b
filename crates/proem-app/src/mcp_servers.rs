//! The servers of the Model Context Protocol that the user's configuration names.

use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_llm::client::hosts::HostScope;
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::mcp::{McpAddress, McpProgram, McpServer};

use crate::config::mcp::McpServerFile;
use crate::error::Error;
use crate::project::OpenProject;
use crate::secrets;

/// The configured server of this name, and its credentials by their names.
///
/// # Errors
///
/// If the configuration says neither or both of `command` and `url`, the program is not there, or a credential is
/// missing.
pub(crate) fn mcp_server(
    project: &OpenProject,
    environment: &Environment,
    name: &str,
    file: &McpServerFile,
) -> Result<(McpServer, Vec<(String, Secret)>), Error> {
    let invalid = |problem: &str| Error::invalid(format!("`mcp.{}` {problem}", show::terminal_str(name)));
    let secret = |named: &str| match secrets::load_configured(project, environment, named)? {
        Some(secret) => Ok(secret),
        None => Err(invalid(&format!(
            "names the credential `{}`; say where it is under `effects.credentials`",
            show::terminal_str(named)
        ))),
    };
    match (&file.command, &file.url) {
        (Some(command), None) => {
            if file.credential.is_some() {
                return Err(invalid("has a `credential`, which only an address gets; name it under `secrets`"));
            }
            let Some((program, arguments)) = command.split_first() else {
                return Err(invalid("has an empty `command`; write `command = [\"PROGRAM\", \"ARGUMENT\"]`"));
            };
            let found = found_program(program, environment).ok_or_else(|| {
                invalid(&format!("needs the program `{}`; install it, or name its path", show::terminal_str(program)))
            })?;
            let variable = |name: &String| Some((name.clone(), environment.get(name)?.to_owned()));
            let (mut variables, mut loaded) = (Vec::new(), Vec::new());
            for (variable, named) in &file.secrets {
                let secret = secret(named)?;
                variables.push((variable.clone(), secret.clone()));
                loaded.push((named.clone(), secret));
            }
            let program = McpProgram {
                program: found,
                arguments: arguments.to_vec(),
                // Not the project's folder, whose files would configure many a program.
                folder: project.places.home.clone(),
                environment: file.environment.iter().filter_map(variable).collect(),
                secrets: variables,
            };
            Ok((McpServer::Program(program), loaded))
        }
        (None, Some(url)) => {
            let credential = file.credential.as_deref().map(secret).transpose()?;
            let loaded = file.credential.iter().cloned().zip(credential.clone()).collect();
            let scope = if file.private { HostScope::Private } else { HostScope::Public };
            Ok((McpServer::Address(McpAddress { url: url.clone(), scope, credential }), loaded))
        }
        (Some(_), Some(_)) => Err(invalid("has both `command` and `url`; keep one")),
        (None, None) => Err(invalid("has neither `command` nor `url`; set one")),
    }
}

fn found_program(program: &str, environment: &Environment) -> Option<PathBuf> {
    if Path::new(program).is_absolute() {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    // A relative path would depend on the folder.
    let is_name = !program.contains('/');
    environment.candidates(program).into_iter().filter(|_| is_name).find(|path| path.is_file())
}
