// Fills the server for page walks: all kinds of records, rules in many states, and a tenant who can sign in.
import type { Page } from 'playwright-core'
import { callAs, freePort } from './browser.ts'
import { clientIdOf, openTarget, seed, useUp } from './seed.ts'

export const tenant = { user: 'ann', password: 'a password of the tenant' }

/** `page` is signed in as a superadmin. */
export async function fill(page: Page): Promise<void> {
  await seed(page)
  await callAs(page, 'POST', `/v1/users/${tenant.user}/password`, {
    new_password: tenant.password,
    temporary: false,
    keep_api_tokens: true
  })
  const target = await openTarget(85_000)
  await useUp(page, 'bob', target)
  target.close()
  const client = await clientIdOf(page)
  const first = await freePort()
  for (let i = 0; i < 30; i++)
    await callAs(page, 'POST', '/v1/rules', {
      client,
      listen_port: 1024 + ((first + i) % 60_000),
      targets: [{ host: '127.0.0.1', port: 8000 + (i % 3) }],
      labels: { env: i % 2 === 0 ? 'prod' : 'test' },
      ...(i % 3 === 0 && { owner: tenant.user }),
      ...(i % 9 === 4 && { paused: true }),
      ...(i % 11 === 5 && { protocol: 'udp' })
    }).catch(allowPortInUse)
}

/** The server stores such a rule as failed, which the walks need, too. */
function allowPortInUse(error: unknown): void {
  if (!String(error).includes('port_in_use')) throw error
}
