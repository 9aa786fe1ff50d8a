// A server and an agent in this process, on a fake engine with given connections.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import type { OpenConnection } from '../../../agent/engine/open-connection.ts'
import { type KitServer, runAgent, testServer } from '../../../kit/public.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import type { ConnectionsEvent } from '../schema.ts'

export async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge')
  for (const user_id of ['ann', 'bob'])
    await server.call('POST', '/v1/users', { user_id, display_name: user_id, role: 'user' })
  const push = async (owner: string, listen_port: number) => {
    const body = { client: 'edge', listen_port, owner, targets: [{ host: '10.0.0.1', port: 80 }] }
    return (await server.call<{ rule_id: string }>('POST', '/v1/rules', body)).body.rule_id
  }
  const open = (id: number, changes: Partial<OpenConnection> = {}): OpenConnection => ({
    ...{ id, key: id, ruleId: agent.engine.opened.at(-1)?.id ?? 0 },
    source: { address: '198.51.100.7', port: 50_000 + id },
    listen: { address: '2001:db8::1', port: 443 },
    target: { address: '10.0.0.1', port: 80, index: 0 },
    divert: null,
    ...{ ageMs: 5000, idleMs: 400, bytesIn: 10, bytesOut: 20, heldBy: null },
    caller: { rttMs: 12.5, retransmits: 3 },
    targetLeg: { rttMs: 0.5, retransmits: 0 },
    ...changes
  })
  return { server, agent, push, open }
}

/** Returns a token of a user. */
export async function tokenOf(server: KitServer, user_id: string): Promise<string> {
  const { body } = await server.call<{ token: string }>('POST', `/v1/users/${user_id}/credentials`, {
    label: 'test'
  })
  return body.token
}

/** Opens a stream over a real socket. */
export async function openStream(t: Test, server: KitServer, query = '', token = operatorToken) {
  const headers = { authorization: `Bearer ${token}` }
  const url = `${server.server.origin}/v1/connections/stream${query}`
  const accepted = once(server.server.http.app.server, 'connection')
  const request = get(url, { headers, agent: false })
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const [socket] = await accepted
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]()
  let text = ''
  return {
    status: response.statusCode,
    /** Resolves when both ends are closed. The server may still write, so its socket may report an error. */
    async close(): Promise<void> {
      const closed = new Promise(resolve => socket.once('close', resolve))
      request.destroy()
      await closed
    },
    /** Resolves with the next event; null after the last. */
    async next(): Promise<ConnectionsEvent | null> {
      for (;;) {
        const [whole, data] = /event: connections\ndata: (.*)\n\n/.exec(text) ?? []
        if (whole !== undefined && data !== undefined) {
          text = text.slice(text.indexOf(whole) + whole.length)
          return JSON.parse(data)
        }
        const { value, done } = await chunks.next()
        if (done) return null
        text += value
      }
    }
  }
}
