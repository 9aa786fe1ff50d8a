// Issues, uses and revokes tokens at any server. Retries revoked tokens repeatedly.
import { setTimeout as pause } from 'node:timers/promises'
import { decide, isMade } from './changes.ts'
import { type Holder, oneOf, type ServerPlace } from './server-place.ts'

const user = 'ann'
const restMs = 2_000
const patienceMs = 3_000

const me = (by: Holder) => ({ method: 'GET', path: '/v1/users/me', by, withinMs: patienceMs })

export async function runRevocations({ servers }: Pick<ServerPlace, 'servers'>) {
  const body = { user_id: user, display_name: 'Ann', role: 'superadmin' }
  await decide(servers, { method: 'POST', path: '/v1/users', body })
  const revoked: Holder[] = []
  let isEnding = false

  async function revoke(): Promise<void> {
    const path = `/v1/users/${user}/credentials`
    while (!isEnding) {
      const { body } = await decide(servers, { method: 'POST', path, body: { label: 'chaos' } })
      const name = body['credential_id']
      const token = body['token']
      // a second answer to the same key has no token
      if (typeof name === 'string' && typeof token === 'string') {
        for (const server of servers) await server.call(me({ name, token }))
        if (
          isMade(await decide(servers, { method: 'DELETE', path: `${path}/${name}`, withinMs: patienceMs }))
        )
          revoked.push({ name, token })
      }
      await pause(Math.random() * restMs)
    }
  }

  async function probe(): Promise<void> {
    while (!isEnding) {
      const one = oneOf([...revoked.slice(-1), ...revoked.slice(-20), null])
      if (one) await oneOf(servers).call(me(one))
      await pause(Math.random() * 100)
    }
  }

  const running = [revoke(), probe(), probe()]
  return {
    async end(): Promise<void> {
      isEnding = true
      await Promise.all(running)
      for (const one of revoked) for (const server of servers) await server.call(me(one))
    }
  }
}
