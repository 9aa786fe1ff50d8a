// What an agent holds, and what it is told: by difference, in order, and until it is settled.
import t from 'tap'
import { Inventory } from '../../kernel/wire/control.ts'
import { Drop, Put, site } from './control-kit.ts'

t.test('a change reaches a connected agent and is settled by its answer', async t => {
  const { enroll, agent, put, settled, rows } = await site(t)
  const { clientId, token } = await enroll()
  const edge = await agent(token)

  await put(clientId, 'a')

  t.match(await edge.until(Put.name), { body: { id: 'a', revision: 1, text: 'text of a' } })
  t.same(await settled(1), ['a@1 taken'])
  t.same(await rows(clientId), ['a@1'])
})

t.test(
  'what was stored while the agent was away is sent when it comes, in order of its revisions',
  async t => {
    const { enroll, agent, put, settled } = await site(t)
    const { clientId, token } = await enroll()
    await put(clientId, 'b', 'a', 'c')

    const edge = await agent(token)

    t.same(await settled(3), ['b@1 taken', 'a@2 taken', 'c@3 taken'])
    t.same(
      edge.heard.map(({ body: { id } }) => id),
      [undefined, 'b', 'a', 'c']
    )
  }
)

t.test("an agent whose digest is the server's is sent nothing, and its rows are settled", async t => {
  const { enroll, agent, put, settled, control } = await site(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a', 'b')
  const first = await agent(token)
  const { generation } = first.welcome
  await settled(2)
  await first.close()

  const stock = [
    { kind: 'thing', id: 'b', revision: 2 },
    { kind: 'thing', id: 'a', revision: 1 }
  ]
  const again = await agent(token, { stock, generation })

  t.same((await settled(4)).slice(2), ['a@1 taken', 'b@2 taken'])
  t.same(again.heard, [])
  t.ok(again.bytesReceived() < 10_240, `${again.bytesReceived()} bytes`)
  t.ok(control.peers.find(clientId))
})

t.test('only the difference is sent: what is unchanged is not touched', async t => {
  const { enroll, agent, put, settled } = await site(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'same', 'changed', 'new')
  await put(clientId, 'changed')
  const stock = [
    { kind: 'thing', id: 'same', revision: 1 },
    { kind: 'thing', id: 'changed', revision: 2 },
    { kind: 'thing', id: 'stray', revision: 9 }
  ]

  const edge = await agent(token, { stock })
  await settled(3)

  t.match(
    edge.heard.map(({ name, body: { id } }) => [name, id]),
    [
      [Inventory.name, undefined],
      [Drop.name, 'stray'],
      [Put.name, 'new'],
      [Put.name, 'changed']
    ]
  )
})
