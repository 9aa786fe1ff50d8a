// A real server process on a seeded database.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { newSecret } from '../../kernel/identity/secret.ts'
import { start } from '../support/process.ts'

export interface SeededServer {
  readonly origin: string
  readonly metricsPort: number
  readonly controlPort: number
  readonly fingerprint: string
  readonly pid: number
  readonly token: string
  readonly startMs: number // from process start until it serves
  request(path: string, init?: RequestInit): Promise<Response>
  /** Sends SIGTERM. Resolves with the time until the process ends, in ms. */
  stop(): Promise<number>
}

/** Starts a server once to create the schema, lets `seed` fill it, and runs `bench` against a second server. */
export async function withSeededServer(
  seed: (db: SQLite.Database) => void,
  bench: (server: SeededServer) => Promise<void>
): Promise<void> {
  const releases: (() => unknown)[] = []
  const dir = mkdtempSync(join(import.meta.dirname, '.bench-'))
  const token = newSecret()
  const startServer = () =>
    start(
      { teardown: release => void releases.push(release as () => unknown) },
      ['server', '--data-dir', dir],
      {
        SVC_OPERATOR_TOKEN: token,
        SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
        SVC_CONTROL_LISTEN: '127.0.0.1:0',
        SVC_METRICS_LISTEN: '127.0.0.1:0'
      }
    )
  try {
    const first = startServer()
    await first.until('server.started')
    first.signal('SIGTERM')
    await first.exit
    const db = new SQLite(join(dir, 'sluice.db'))
    db.transaction(() => seed(db))()
    db.close()

    const began = performance.now()
    const server = startServer()
    const { port: metricsPort } = await server.until('metrics.listening')
    const { origin, control_port, server_cert_sha256 } = await server.until('server.started')
    const startMs = performance.now() - began
    const request = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${origin}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      })
    const stop = async (): Promise<number> => {
      const asked = performance.now()
      server.signal('SIGTERM')
      await server.exit
      return performance.now() - asked
    }
    await bench({
      origin: String(origin),
      metricsPort: Number(metricsPort),
      controlPort: Number(control_port),
      fingerprint: String(server_cert_sha256),
      pid: server.pid,
      token,
      startMs,
      request,
      stop
    })
  } finally {
    for (const release of releases.reverse()) await release()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Returns the quantile of the values at `share`, from 0 to 1. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
