// Creates sample records: users, grants, used quotas, bans, source lists and history.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { callAs, freePort } from './browser.ts'

/** Calls the API as the user of the page; returns the body of the reply. */
export const api = (page: Page, method: string, path: string, body?: object): Promise<unknown> =>
  callAs(page, method, path, body)

export interface Target {
  readonly port: number
  close(): void
}

/** Starts a target that answers each request with `bytes` bytes. */
export async function openTarget(bytes: number): Promise<Target> {
  const server = createServer((_, response) => response.end(Buffer.alloc(bytes))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

export const getOnce = async (port: number): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  await response.arrayBuffer()
}

export async function clientIdOf(page: Page): Promise<string> {
  const [client] = (await api(page, 'GET', '/v1/clients')) as { client_id: string }[]
  if (!client) throw new Error('no client is enrolled')
  return client.client_id
}

/** Creates some records of each kind. */
export async function seed(page: Page): Promise<void> {
  const client = await clientIdOf(page)
  const names = ['ann', 'bob', 'carol', 'dave', 'erin']
  for (const [i, user_id] of names.entries()) {
    const display_name = `${user_id[0]?.toUpperCase()}${user_id.slice(1)} Miller`
    await api(page, 'POST', '/v1/users', { user_id, display_name, labels: { team: i % 2 ? 'web' : 'data' } })
    const grant = { user_id, client_id: i === 0 ? '*' : client, protocols: ['tcp', 'udp'] }
    const ports = { listen_port_start: 20_000 + i * 100, listen_port_end: 20_099 + i * 100 }
    await api(page, 'POST', '/v1/grants', {
      ...grant,
      ...ports,
      targets: i === 0 ? null : ['10.0.0.0/8', 'db.example:5432'],
      note: 'ticket 4711'
    })
    await api(page, 'PUT', `/v1/users/${user_id}/quotas/${client}`, { monthly_bytes: 1e11 * (5 - i) })
  }
  await api(page, 'PATCH', '/v1/users/dave', { disabled: true })
  await api(page, 'POST', '/v1/users/carol/password', {})
  await api(page, 'POST', '/v1/users/ann/credentials', { label: 'deploy@ci', expires_in_secs: 7_776_000 })
  await api(page, 'POST', '/v1/users/ann/credentials', { label: 'grafana' })
  await api(page, 'PUT', `/v1/clients/${client}/owners/ann/rate-limit`, { bandwidth_out_bps: 100_000_000 })
  await api(page, 'PUT', '/v1/source-lists/office', { entries: ['192.0.2.0/24', '2001:db8::/32'] })
  await api(page, 'PUT', '/v1/source-lists/partners', { entries: ['198.51.100.0/24'] })
  await api(page, 'POST', '/v1/bans', { source: '203.0.113.9', for_secs: 86_400, reason: 'scans ports' })
  await api(page, 'POST', '/v1/bans', { source: '2001:db8:66::/48', for_secs: 604_800 })
}

/** Creates a rule of a user, and a quota that one request nearly uses up. */
export async function useUp(page: Page, owner: string, target: Target): Promise<void> {
  const client = await clientIdOf(page)
  const port = await freePort()
  await api(page, 'PUT', `/v1/users/${owner}/quotas/${client}`, { monthly_bytes: 100_000 })
  await api(page, 'POST', '/v1/rules', {
    client: client,
    owner,
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: target.port }]
  })
  await getOnce(port)
}
