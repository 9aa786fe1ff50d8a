// Several real servers with fixed ports on one PostgreSQL that the run starts, and their callers.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { type Cluster, makeCluster } from '../postgres/cluster.ts'
import { freePort } from '../support/ports.ts'
import { type Process, start } from '../support/process.ts'

const settings = `
max_connections = 300
shared_buffers = 256MB
wal_keep_size = 1GB
` // PostgreSQL syncs commits, and may have a standby
const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const byOperator: Holder = { name: 'operator', token: operator }
export const leaseMs = 10_000 // as in plugins/servers/server-registry.ts

export interface Reply {
  readonly status: number // 0: no answer
  readonly body: Readonly<Record<string, unknown>>
}

/** The owner of a bearer token. */
export interface Holder {
  readonly name: string
  readonly token: string
}

export interface Call {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly key?: string // Idempotency-Key
  readonly by?: Holder // default: the operator
  readonly withinMs?: number
}

export interface Server {
  readonly id: string
  readonly origin: string
  readonly controlPort: number
  fingerprint(): string
  /** Its process, which may have ended. */
  process(): Process
  /** The output of all its processes. */
  output(): string
  call(call: Call): Promise<Reply>
  /** Restarts it after it has ended. */
  restart(): Promise<void>
}

export interface Agent {
  readonly clientId: string
  readonly token: string
}

/** Releases run at the end of the part. */
export interface Teardown {
  teardown(release: () => unknown): void
}

export interface ServerPlace extends Teardown {
  /** The database of the servers; a failover replaces it. */
  readonly cluster: Cluster
  takeOver(cluster: Cluster): void
  readonly servers: readonly Server[]
  /** Queries the database directly. */
  query<R extends object>(sql: string, values?: readonly unknown[]): Promise<readonly R[]>
  addClients(count: number): Promise<readonly Agent[]>
}

interface Options {
  readonly servers: readonly string[]
  /** The address of the database for a server, if it is not the database's own. */
  readonly urlOf?: (id: string, url: string) => string
  /** Additional environment of a server. */
  readonly envOf?: (id: string) => Readonly<Record<string, string>>
  /** Additional environment of the database. */
  readonly databaseEnv?: (t: Teardown) => Readonly<Record<string, string>>
  /** Called with the address of the database, before servers start. */
  readonly ready?: (at: PostgresPlace, t: Teardown) => Promise<void>
}

/** Runs `work` with a new database and servers that start at the same time. */
export async function withServers(
  { servers: ids, urlOf = (_, url) => url, envOf = () => ({}), databaseEnv = () => ({}), ready }: Options,
  work: (place: ServerPlace) => Promise<void>
): Promise<void> {
  const releases: (() => unknown)[] = []
  const t: Teardown = { teardown: (release: () => unknown) => void releases.push(release) }
  try {
    let cluster: Cluster = await makeCluster(settings, databaseEnv(t))
    t.teardown(cluster.remove)
    cluster.start()
    await runAt(cluster.at('postgres'), ['create database sluice'])
    const url = cluster.at('sluice').url
    await ready?.(cluster.at('sluice'), t)
    const dir = mkdtempSync(join(tmpdir(), 'sluice-servers-'))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    const files = await certificateIn(dir)
    const servers = await Promise.all(
      ids.map(id => serverOf(t, { id, dir, env: { ...files, ...envOf(id), SVC_STORE_URL: urlOf(id, url) } }))
    )
    await Promise.all(servers.map(server => server.restart()))
    const query = async <R extends object>(sql: string, values: readonly unknown[] = []) =>
      queryAt<R>(cluster.at('sluice').url, sql, values)
    await work({
      servers,
      query,
      get cluster() {
        return cluster
      },
      takeOver(other) {
        cluster = other
      },
      teardown: t.teardown,
      addClients: count => add(query, count)
    })
  } finally {
    for (const release of releases.reverse()) await release()
  }
}

async function certificateIn(dir: string) {
  const { cert, key } = await makeCertificate([])
  const files = { SVC_TLS_CERT_PATH: join(dir, 'cert.pem'), SVC_TLS_KEY_PATH: join(dir, 'key.pem') }
  writeFileSync(files.SVC_TLS_CERT_PATH, cert)
  writeFileSync(files.SVC_TLS_KEY_PATH, key, { mode: 0o600 })
  return files
}

interface ServerOptions {
  readonly id: string
  readonly dir: string
  readonly env: Readonly<Record<string, string>>
}

/** Returns a server that does not run yet. */
async function serverOf(t: Teardown, { id, dir, env }: ServerOptions): Promise<Server> {
  const data = join(dir, id)
  mkdirSync(data, { mode: 0o700 })
  const api = await freePort()
  const controlPort = await freePort()
  const origin = `http://127.0.0.1:${api}`
  const run = (): Process =>
    start(t, ['server', '--data-dir', data], {
      ...env,
      SVC_SERVER_ID: id,
      SVC_OPERATOR_TOKEN: operator,
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
      SVC_CONTROL_LISTEN: `127.0.0.1:${controlPort}`,
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
  const runs: Process[] = []
  let fingerprint = ''
  return {
    id,
    origin,
    controlPort,
    fingerprint: () => fingerprint,
    process() {
      const last = runs.at(-1)
      if (!last) throw new TypeError(`server ${id} was not started`)
      return last
    },
    output: () => runs.map(({ output }) => output()).join(''),
    call: call => callAt(origin, call),
    async restart() {
      const process = run()
      runs.push(process)
      const started = await process.until('server.started')
      fingerprint = String(started['server_cert_sha256'])
    }
  }
}

/** Returns status 0 without an answer: the outcome is unknown. */
async function callAt(
  origin: string,
  { method, path, body, key, by = byOperator, withinMs = 30_000 }: Call
): Promise<Reply> {
  try {
    const reply = await fetch(origin + path, {
      method,
      signal: AbortSignal.timeout(Math.ceil(withinMs)),
      headers: {
        authorization: `Bearer ${by.token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key })
      },
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  } catch (error) {
    return { status: 0, body: { reason: String(error) } }
  }
}

async function queryAt<R extends object>(
  url: string,
  sql: string,
  values: readonly unknown[]
): Promise<readonly R[]> {
  const client = new pg.Client(url)
  client.on('error', () => {}) // the caller gets the error
  await client.connect()
  try {
    return (await client.query(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

/** Inserts clients as if enrolled, with their id as token. */
async function add(query: ServerPlace['query'], count: number): Promise<readonly Agent[]> {
  const agents = Array.from({ length: count }, () => newId(Date.now())).map(id => ({
    clientId: id,
    token: id
  }))
  await query(
    `insert into kernel_client (id, name, token_hash, revision, enrolled_at)
     select id, 'edge-' || lower(id), hash, 0, 1 from unnest($1::text[], $2::text[]) as made (id, hash)`,
    [agents.map(({ clientId }) => clientId), agents.map(({ token }) => hashOf(token))]
  )
  return agents
}

/** Retries until the answer fits, for at most `withinMs`. Returns the last answer. */
export async function until<T>(
  ask: () => Promise<T>,
  fits: (answer: T) => boolean,
  { withinMs = 60_000, everyMs = 50 } = {}
): Promise<T> {
  const began = performance.now()
  for (;;) {
    const answer = await ask()
    if (fits(answer) || performance.now() - began > withinMs) return answer
    await pause(everyMs)
  }
}

export function oneOf<T>(all: readonly T[]): T {
  const one = all[Math.floor(Math.random() * all.length)]
  if (one === undefined) throw new RangeError('there is none')
  return one
}

export const ruleOf = (client: string, port: number) => ({
  client,
  protocol: 'tcp',
  listen_port: port,
  targets: [{ host: '127.0.0.1', port: 80 }]
})
