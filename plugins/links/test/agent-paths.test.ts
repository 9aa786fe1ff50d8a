// Client connections over links, in both directions and over one to three links.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import {
  type Client,
  type Direction,
  dial,
  echo,
  openCaller,
  openClient,
  openTarget,
  readAll,
  setLink,
  setPath,
  untilUp
} from './agent-world.ts'

/** Opens a chain of clients with links that are up: the entry first. */
async function openChain(t: Test, hops: number, direction: Direction): Promise<Client[]> {
  const clients: Client[] = []
  for (let at = 0; at <= hops; at++) clients.push(await openClient(t))
  for (const [at, near] of clients.entries()) {
    const far = clients[at + 1]
    if (far) await untilUp(near, setLink(near, far, { direction }))
  }
  return clients
}

for (const direction of ['reverse', 'direct'] as const)
  for (const hops of [1, 2, 3]) {
    const name = `${direction} over ${hops} links`

    t.test(`${name}: 1 MiB each way arrives unchanged, and each side ends on its own`, async t => {
      const port = await openTarget(t, echo)
      const chain = await openChain(t, hops, direction)
      const caller = await openCaller(t, chain[0]!, chain[1]!, setPath(chain, port))
      const sent = randomBytes(1024 * 1024)

      caller.end(sent)
      const received = await readAll(caller)

      t.ok(received.equals(sent))
      const [link] = chain[0]!.links.all
      t.same(link?.counts, { up: sent.length, down: sent.length })
    })

    t.test(`${name}: a target that ends first still reads`, async t => {
      const read = Promise.withResolvers<Buffer>()
      const port = await openTarget(t, socket => {
        socket.end('bye')
        readAll(socket).then(read.resolve, read.reject)
      })
      const chain = await openChain(t, hops, direction)
      const caller = await openCaller(t, chain[0]!, chain[1]!, setPath(chain, port))

      t.equal((await readAll(caller)).toString(), 'bye')
      caller.end('late')
      t.equal((await read.promise).toString(), 'late')
    })

    t.test(`${name}: resets are passed on in both directions`, async t => {
      const accepted: Socket[] = []
      const port = await openTarget(t, socket => void accepted.push(socket))
      const chain = await openChain(t, hops, direction)
      const ruleId = setPath(chain, port)
      const first = await openCaller(t, chain[0]!, chain[1]!, ruleId)
      const second = await openCaller(t, chain[0]!, chain[1]!, ruleId)
      first.write('x')
      await once(accepted[0]!, 'data')

      const targetSees = once(accepted[0]!, 'error')
      first.resetAndDestroy()
      t.match(await targetSees, [{ code: 'ECONNRESET' }])
      const callerSees = once(second, 'error')
      accepted[1]!.resetAndDestroy()
      t.match(await callerSees, [{ code: 'ECONNRESET' }])
    })

    t.test(`${name}: the exit says why it does not open a target`, async t => {
      const closed = await openTarget(t, () => {})
      const chain = await openChain(t, hops, direction)
      const [entry, next] = chain as [Client, Client]
      const ruleId = setPath(chain, closed)

      t.match(await dial(entry, next, setPath(chain, 1)), { reason: 'refused', isRefusal: false })
      t.match(await dial(entry, next, '01ARZ3NDEKTSV4RRFFQ69G5FAV'), {
        reason: 'rule_unknown',
        isRefusal: true
      })
      t.match(await dial(entry, next, ruleId, { key: 1 }), { reason: 'rule_unknown', isRefusal: true })
      t.match(await dial(entry, next, ruleId, { offset: 1 }), { reason: 'rule_unknown', isRefusal: true })
      chain.at(-1)!.exits = false
      t.match(await dial(entry, next, ruleId), { reason: 'denied_by_exit', isRefusal: true })
      chain.at(-1)!.exits = true
      t.match(await dial(entry, next, ruleId), { address: '127.0.0.1', port: closed }, 'and opens others')
    })
  }
