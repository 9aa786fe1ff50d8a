// What the pages have to show: rules of all kinds of states, a tenant with a grant and a quota.
import type { Page } from 'playwright-core'
import { callAs, freePort } from './browser.ts'

export const tenant = { user: 'ann', password: 'a password of the tenant' }

/** `page` is that of a superadmin. */
export async function seed(page: Page): Promise<void> {
  const [edge] = await callAs<{ client_id: string }[]>(page, 'GET', '/v1/clients')
  const client_id = edge?.client_id ?? ''
  await callAs(page, 'POST', '/v1/users', {
    user_id: tenant.user,
    display_name: 'Ann',
    role: 'user',
    initial_password: tenant.password
  })
  await callAs(page, 'POST', '/v1/grants', {
    user_id: tenant.user,
    client_id,
    listen_port_start: 1024,
    listen_port_end: 65_535,
    protocols: ['tcp', 'udp']
  })
  await callAs(page, 'PUT', `/v1/users/${tenant.user}/quotas/${client_id}`, { monthly_bytes: 50_000_000_000 })
  const first = await freePort()
  for (let i = 0; i < 30; i++)
    await callAs(page, 'POST', '/v1/rules', {
      client: client_id,
      listen_port: 1024 + ((first + i) % 60_000),
      targets: [{ host: '127.0.0.1', port: 8000 + (i % 3) }],
      labels: { env: i % 2 === 0 ? 'prod' : 'test' },
      ...(i % 3 === 0 && { owner: tenant.user }),
      ...(i % 9 === 4 && { paused: true }),
      ...(i % 11 === 5 && { protocol: 'udp' })
    }).catch(allowPortInUse)
}

/** Such a rule is shown as failed. */
function allowPortInUse(error: unknown): void {
  if (!String(error).includes('port_in_use')) throw error
}
