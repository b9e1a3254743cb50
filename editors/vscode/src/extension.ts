/** Starts the server, and again when it is to be another one. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, LanguageClientOptions } from "vscode-languageclient/node";
import { PROBE, serverCommand } from "./command";

const PYTHON = "ms-python.python";
/** What of the Python extension's interface is used here. */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

let client: LanguageClient | undefined;
let output: vscode.LogOutputChannel;
/** Starts and stops follow one another, however fast settings change. */
let last: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel("amplint", { log: true });
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("amplint.restart", restart),
    vscode.commands.registerCommand("amplint.fixAll", fixAll),
    vscode.commands.registerCommand("amplint.showLog", () => output.show()),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("amplint.enable") || event.affectsConfiguration("amplint.path")) {
        await restart();
      }
    }),
  );
  const python = await pythonExtension();
  if (python !== undefined) {
    context.subscriptions.push(python.environments.onDidChangeActiveEnvironmentPath(restart));
  }
  await restart();
}

export async function deactivate(): Promise<void> {
  await last;
  await stop();
}

function restart(): Promise<void> {
  last = last.then(async () => {
    await stop();
    await start();
  });
  return last;
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  try {
    await old?.dispose();
  } catch (error) {
    output.warn(`the server did not stop as it should: ${error}`); // the next one starts all the same
  }
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("amplint");
  if (!settings.get<boolean>("enable", true)) {
    return;
  }
  const path = settings.get<string>("path", "");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const command = serverCommand(path, path === "" ? await interpreter() : undefined, folder);
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { scheme: "vscode-notebook-cell", language: "python" },
    ],
    initializationOptions: { args: settings.get<string[]>("args", []) },
    synchronize: { configurationSection: "amplint" },
    outputChannel: output,
    traceOutputChannel: output,
  };
  output.info(`starting ${[command.command, ...command.args].join(" ")}`);
  client = new LanguageClient("amplint", "amplint", command, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    output.error(String(error));
    const show = "Show the log";
    const message = "amplint cannot be started: pip install 'amplint[lsp]' in the environment, or set amplint.path.";
    void vscode.window.showErrorMessage(message, show).then((chosen) => chosen === show && output.show());
  }
}

/** The interpreter of the chosen environment, if the server can run on it. */
async function interpreter(): Promise<string | undefined> {
  const python = await pythonExtension();
  if (python === undefined) {
    return undefined;
  }
  const chosen = await python.environments.resolveEnvironment(python.environments.getActiveEnvironmentPath());
  const executable = chosen?.executable.uri?.fsPath;
  return executable !== undefined && (await succeeds(executable, PROBE)) ? executable : undefined;
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON);
  try {
    return await extension?.activate();
  } catch (error) {
    output.warn(`the Python extension does not answer: ${error}`);
    return undefined;
  }
}

function succeeds(program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => execFile(program, args, { timeout: 20_000 }, (error) => resolve(error === null)));
}

async function fixAll(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (client === undefined || document === undefined) {
    return;
  }
  const params = { command: "amplint.applyFixes", arguments: [document.uri.toString()] };
  await client.sendRequest(ExecuteCommandRequest.type, params);
}
