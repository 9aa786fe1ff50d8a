// A second server on the database of a test, in a separate process.
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Process, start } from '../support/process.ts'
import { token } from '../support/test-cluster.ts'

export const keyIn = (dir: string): string => join(dir, 'store.key')

/** Starts a server with a different data directory. */
export async function startAt(t: Test, control: string, dir: string, url: string): Promise<Process> {
  const server = start(t, ['server', '--data-dir', dir], {
    SVC_STORE_URL: url,
    SVC_OPERATOR_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: control,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await server.until('server.started')
  return server
}

export const fingerprintOf = ({ events }: Process): unknown =>
  events.find(({ event }) => event === 'server.started')?.['server_cert_sha256']

export async function stop(server: Process): Promise<void> {
  server.signal('SIGTERM')
  await server.exit
}
