/** How the server is started; knows nothing of VS Code, so that the tests start it in the same way. */

export interface Command {
  command: string;
  args: string[];
}

/**
 * The command line of the server.
 *
 * @param path the program that the user has set; empty for none
 * @param python the interpreter of the chosen environment, if there is one that has amplint
 * @param folder what `${workspaceFolder}` stands for in the path
 */
export function serverCommand(path: string, python?: string, folder = ""): Command {
  if (path !== "") {
    return { command: path.replace("${workspaceFolder}", folder), args: ["server"] };
  }
  // -I: what lies in the current folder is not imported.
  return python === undefined
    ? { command: "amplint", args: ["server"] }
    : { command: python, args: ["-I", "-m", "amplint", "server"] };
}

/** What is asked of an interpreter to know whether the server can run on it. */
export const PROBE = ["-I", "-c", "import amplint, pygls"];
