/** A session with the real server, started as the extension starts it, without VS Code. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  ApplyWorkspaceEditRequest,
  type CodeAction,
  CodeActionRequest,
  CodeActionResolveRequest,
  createProtocolConnection,
  type Diagnostic,
  DidChangeConfigurationNotification,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExecuteCommandRequest,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  type WorkspaceEdit,
} from "vscode-languageserver-protocol/node";
import manifest from "../package.json";
import { serverCommand } from "../src/command";

const CLIP = `import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(x, y)
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
`;

let folder: string;
let server: ChildProcess;
let connection: ProtocolConnection;
let uri: string;
let published: (found: Diagnostic[]) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "amplint-"));
  uri = pathToFileURL(join(folder, "train.py")).toString();
  writeFileSync(join(folder, "amplint.toml"), "");
  writeFileSync(join(folder, "train.py"), CLIP);
  const { command, args } = serverCommand(process.env["AMPLINT"] ?? "");
  server = spawn(command, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  connection = createProtocolConnection(new StreamMessageReader(server.stdout!), new StreamMessageWriter(server.stdin!));
  connection.onNotification(PublishDiagnosticsNotification.type, (found) => published(found.diagnostics));
  connection.listen();
  await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(folder).toString(),
    capabilities: {},
    initializationOptions: { args: manifest.contributes.configuration.properties["amplint.args"].default },
    workspaceFolders: [{ uri: pathToFileURL(folder).toString(), name: "project" }],
  });
  await connection.sendNotification(InitializedNotification.type, {});
});

afterEach(async () => {
  await connection.sendRequest(ShutdownRequest.type);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await ended, 0);
  connection.dispose();
  rmSync(folder, { recursive: true });
});

/** The codes that are published next after something was done. */
async function codesAfter(act: () => Promise<void>): Promise<unknown[]> {
  const next = new Promise<Diagnostic[]>((resolve) => (published = resolve));
  await act();
  return (await next).map((found) => found.code);
}

function open(): Promise<void> {
  const textDocument = { uri, languageId: "python", version: 1, text: CLIP };
  return connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
}

const ROW = { start: { line: 11, character: 10 }, end: { line: 11, character: 10 } };

test("findings come while somebody types", async () => {
  assert.deepEqual(await codesAfter(open), ["AMP101"]);
  const change = () =>
    connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version: 2 },
      contentChanges: [{ range: ROW, text: "" }, { range: { ...ROW, start: { line: 11, character: 0 } }, text: "#" }],
    });
  assert.deepEqual(await codesAfter(change), []);
});

test("fixes, one and all", async () => {
  await codesAfter(open);
  const asked = { textDocument: { uri }, range: ROW, context: { diagnostics: [] } };
  const found = (await connection.sendRequest(CodeActionRequest.type, asked)) as CodeAction[];
  const [fix, ignore, every] = found;
  assert.equal(fix?.title, "Add `scaler.unscale_(optimizer)` before the clip (AMP101)");
  assert.equal(ignore?.title, "Ignore AMP101 here");
  const resolved = await connection.sendRequest(CodeActionResolveRequest.type, every!);
  assert.deepEqual(resolved.edit, fix?.edit);
});

test("the command behind amplint.fixAll", async () => {
  await codesAfter(open);
  let edit: WorkspaceEdit | undefined;
  connection.onRequest(ApplyWorkspaceEditRequest.type, (asked) => {
    edit = asked.edit;
    return { applied: true };
  });
  await connection.sendRequest(ExecuteCommandRequest.type, { command: "amplint.applyFixes", arguments: [uri] });
  assert.equal(edit?.changes?.[uri]?.[0]?.newText, "        scaler.unscale_(optimizer)\n");
});

test("the page of the rule", async () => {
  await codesAfter(open);
  const hover = await connection.sendRequest(HoverRequest.type, { textDocument: { uri }, position: ROW.start });
  assert.match(JSON.stringify(hover?.contents), /# AMP101 clip-before-unscale/);
});

test("amplint.args changes while the server runs", async () => {
  await codesAfter(open);
  const settings = { amplint: { enable: true, path: "", args: ["--ignore", "AMP101"] } };
  const change = () => connection.sendNotification(DidChangeConfigurationNotification.type, { settings });
  assert.deepEqual(await codesAfter(change), []);
});

test("the program that is started", () => {
  assert.deepEqual(serverCommand("/opt/amplint", "/usr/bin/python"), { command: "/opt/amplint", args: ["server"] });
  assert.deepEqual(serverCommand("", "/usr/bin/python").args, ["-I", "-m", "amplint", "server"]);
  assert.equal(serverCommand("").command, "amplint");
  assert.equal(serverCommand("${workspaceFolder}/.venv/bin/amplint", undefined, "/p").command, "/p/.venv/bin/amplint");
});
