// Provokes findings: with the real program on a real directory, or with one check on a simulated host if a real one would need
// another kernel, disk or machine.
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice } from '../../../test/support/process.ts'
import type { DoctorContext, Finding, FindingKind, Host, Sample } from '../../cli/check-exports.ts'
import { checks } from '../checks.ts'
import { commonFindings } from '../commands.ts'
import { thisHost } from '../host.ts'

export const dayMs = 86_400_000

/** All kinds of findings, by id. */
export const findingKinds: Readonly<Record<string, FindingKind>> = {
  ...commonFindings,
  ...Object.assign({}, ...checks.map(({ findings }) => findings))
}

export const freePorts = {
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0'
}

interface Row {
  readonly id: string | null
  readonly status: string
  readonly message: string
}

/** Runs the command. Asserts that it reports each expected finding with severity and remedy, and exits with 1 if one fails. */
export async function expectFound(
  t: Test,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, RegExp>>
): Promise<void> {
  const { stdout, stderr, code } = await sluice([...args, '--output', 'json'], env)
  const rows = JSON.parse(stdout) as Row[]
  const shown = rows.map(({ status, id, message }) => `${status} ${id} ${message}`).join('\n')
  for (const [id, message] of Object.entries(expected)) {
    const row = rows.find(row => row.id === id && message.test(row.message))
    t.match(row, { status: findingKinds[id]?.status, remedy: /\w{3}/ }, `${id}\n${shown}\n${stderr}`)
  }
  t.equal(code, rows.some(({ status }) => status === 'fail') ? 1 : 0, stderr)
}

/** Runs one check with the given parts of host and context. */
export function runCheck(
  name: string,
  host: Partial<Host>,
  context: Partial<DoctorContext> = {}
): Promise<readonly Finding[]> {
  const check = checks.find(check => check.name === name)
  if (!check) throw new TypeError(`no check ${name}`)
  return check.run({
    role: 'server',
    dir: '/nowhere',
    keys: {},
    isRunning: false,
    now: Date.now(),
    query: async () => [],
    metrics: async () => null,
    ...context,
    host: { ...thisHost, read: () => null, ask: async () => null, ...host }
  })
}

export const idsOf = (found: readonly Finding[]): string[] =>
  found.flatMap(finding => ('id' in finding ? [finding.id] : []))

export const hostWithFiles = (files: Readonly<Record<string, string>>): Pick<Host, 'read'> => ({
  read: path => files[path] ?? null
})

export const metric = (name: string, value: number, labels = {}): Sample => ({ name, value, labels })

/** Returns the bundle of an agent with an unreachable server. */
export const makeBundle = (more: object = {}): string =>
  JSON.stringify({
    version: 1,
    client_id: '01',
    client_name: 'edge',
    token: 't',
    server_endpoint: '127.0.0.1:1',
    server_cert_sha256: 'a'.repeat(64),
    ...more
  })

/** Returns a state directory with this bundle. */
export function stateDir(t: Test, bundle: string | null, mode = 0o600): string {
  const dir = privateDir(t)
  if (bundle === null) return dir
  writeFileSync(join(dir, 'bundle.json'), bundle)
  chmodSync(join(dir, 'bundle.json'), mode)
  return dir
}
