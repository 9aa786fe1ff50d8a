// Process state that a test file must restore, since the next file runs in the same process.
import { globSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

export interface ProcessState {
  readonly testdir: string
  readonly env: Readonly<NodeJS.ProcessEnv>
  readonly cwd: string
  readonly umask: number
  readonly handles: ReadonlyMap<string, number> // count by type
}

/** Records the state before a test file runs. `testdir` is the prefix of the directories that tap creates for it. */
export const recordState = (testdir: string): ProcessState => ({
  testdir,
  env: { ...process.env },
  cwd: process.cwd(),
  umask: process.umask(),
  handles: countHandles()
})

const graceMs = 2000 // servers and sockets close asynchronously
const stepMs = 20

/** Returns descriptions of everything that a test file has left behind. */
export async function findLeftovers(before: ProcessState): Promise<string[]> {
  for (let waitedMs = 0; waitedMs < graceMs; waitedMs += stepMs) {
    if (changesSince(before).length === 0) return []
    await pause(stepMs)
  }
  return changesSince(before)
}

function changesSince({ testdir, env, cwd, umask, handles }: ProcessState): string[] {
  const names = new Set([...Object.keys(env), ...Object.keys(process.env)])
  const found = [
    ...[...names].filter(name => env[name] !== process.env[name]).map(name => `environment variable ${name}`),
    ...[...countHandles()]
      .map(([type, count]) => ({ type, more: count - (handles.get(type) ?? 0) }))
      .filter(({ more }) => more > 0)
      .map(({ type, more }) => `${more} ${type}`),
    ...readdirSync(tmpdir()).map(name => `file ${tmpdir()}/${name}`),
    ...globSync(`${testdir}{,-*}`).map(path => `directory ${path}`)
  ]
  if (cwd !== process.cwd()) found.push(`working directory ${process.cwd()}`)
  if (umask !== process.umask()) found.push(`umask ${process.umask().toString(8)}`)
  return found
}

/** Counts child processes, servers and UDP sockets that keep the process running. */
function countHandles(): ReadonlyMap<string, number> {
  const types = process
    .getActiveResourcesInfo()
    .filter(type => /^(Process|TCPServer|PipeServer|UDP)Wrap$/.test(type))
  return new Map([...Map.groupBy(types, type => type)].map(([type, all]) => [type, all.length]))
}
