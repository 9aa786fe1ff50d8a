// A real server process over a store that was filled by hand, and what a bench needs to ask it.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { newSecret } from '../../kernel/identity/secret.ts'
import { start } from '../support/process.ts'

export interface Seeded {
  readonly origin: string
  readonly metricsPort: number
  readonly controlPort: number
  readonly fingerprint: string
  ask(path: string, init?: RequestInit): Promise<Response>
}

/** Makes the schema by a first start, lets `seed` write into it, and runs `bench` against a second. */
export async function withServer(
  seed: (db: SQLite.Database) => void,
  bench: (server: Seeded) => Promise<void>
): Promise<void> {
  const releases: (() => unknown)[] = []
  const dir = mkdtempSync(join(import.meta.dirname, '.bench-'))
  const token = newSecret()
  const up = () =>
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
    const first = up()
    await first.until('server.started')
    first.signal('SIGTERM')
    await first.exit
    const db = new SQLite(join(dir, 'sluice.db'))
    db.transaction(() => seed(db))()
    db.close()

    const server = up()
    const { port: metricsPort } = await server.until('metrics.listening')
    const { origin, control_port, server_cert_sha256 } = await server.until('server.started')
    const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${origin}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      })
    await bench({
      origin: String(origin),
      metricsPort: Number(metricsPort),
      controlPort: Number(control_port),
      fingerprint: String(server_cert_sha256),
      ask
    })
  } finally {
    for (const release of releases.reverse()) await release()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The value below which the given share of them lies. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
