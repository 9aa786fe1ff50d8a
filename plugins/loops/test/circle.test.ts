// Circles in a graph of rules, without a store.
import t from 'tap'
import { findCircle, type ListeningRule } from '../circle.ts'
import { loadedGraph } from '../loaded-graph.ts'

const clients = ['a', 'b', 'c'].map(id => ({
  id,
  address: `${id}.example`,
  remoteAddr: `192.0.2.${id.charCodeAt(0)}`
}))

/** A rule `a1 80 b.example:90`: on client a, from port 80, to port 90 of b.example. */
function parse(text: string, more: Partial<ListeningRule> = {}): ListeningRule {
  const [id = '', ports = '', ...targets] = text.split(' ')
  const [from = 0, to = from] = ports.split('-').map(Number)
  return {
    ...{ id, shownId: id, clientId: id.slice(0, 1), owner: 'ann', protocol: 'tcp', from, to },
    targets: targets.map(target => ({
      host: target.split(':')[0] ?? '',
      port: Number(target.split(':')[1])
    })),
    ...{ name: null, isFallback: false },
    ...more
  }
}

/** Returns the ids of the circle that the first rule is in, or null. */
async function circleOf(
  rules: readonly (string | ListeningRule)[],
  hosts: Parameters<typeof loadedGraph>[0] = clients
): Promise<string[] | null> {
  const parsed = rules.map(rule => (typeof rule === 'string' ? parse(rule) : rule))
  const [start] = parsed
  const circle = start ? await findCircle(start, loadedGraph(hosts, parsed)) : null
  return circle?.map(({ id }) => id) ?? null
}

t.test('two rules that lead to each other are a circle, by addresses of the clients', async t => {
  t.same(await circleOf(['a1 80 b.example:90', 'b1 90 a.example:80']), ['a1', 'b1'])
  t.same(await circleOf(['a1 80 192.0.2.98:90', 'b1 90 192.0.2.97:80']), ['a1', 'b1'])
  t.same(await circleOf(['a1 80 a.example:80']), ['a1'])
})

t.test('a circle may have eight rules, and branches', async t => {
  const ring = (count: number) =>
    Array.from({ length: count }, (_, at) => `a${at} ${100 + at} 127.0.0.1:${100 + ((at + 1) % count)}`)

  t.equal((await circleOf(ring(8)))?.length, 8)
  t.equal(await circleOf(ring(9)), null)
  t.same(
    await circleOf(['a1 80 10.0.0.1:80 b.example:90', 'b1 90 10.0.0.2:1 c.example:70', 'c1 70 a.example:80']),
    ['a1', 'b1', 'c1']
  )
})

t.test('the exit of a path sees the host of its target', async t => {
  const viaB = { targets: [{ host: '127.0.0.1', port: 80, path: ['c', 'b'] }] }

  t.equal(await circleOf([parse('a1 80', viaB)]), null, 'loopback is that of the exit')
  t.same(await circleOf([parse('a1 80', viaB), 'b1 80 a.example:80']), ['a1', 'b1'])
})

t.test('a loopback target leads to clients with the same observed address only', async t => {
  const rules = ['a1 80 127.0.0.1:90', 'b1 90 localhost:80']
  const beside = clients.map(client => ({ ...client, remoteAddr: '198.51.100.7' }))

  t.same(await circleOf(rules, beside), ['a1', 'b1'])
  t.same(await circleOf(['a1 80 127.1.2.3:90', 'b1 90 LocalHost.:80'], beside), ['a1', 'b1'])
  t.equal(await circleOf(rules), null)
  t.equal(
    await circleOf(
      rules,
      clients.map(client => ({ ...client, remoteAddr: null }))
    ),
    null
  )
})

t.test('a chain, another port, another protocol and another host are no circle', async t => {
  t.equal(await circleOf(['a1 80 b.example:90', 'b1 90 c.example:70', 'c1 70 10.0.0.1:80']), null)
  t.equal(await circleOf(['a1 80 b.example:90', 'b1 90 a.example:81']), null)
  t.equal(await circleOf(['a1 80 b.example:90', parse('b1 90 a.example:80', { protocol: 'udp' })]), null)
  t.equal(await circleOf(['a1 80 b.example:90', 'b1 90 other.example:80']), null)
})

t.test('a rule that leads into the circle of others closes none', async t => {
  t.equal(await circleOf(['a1 80 b.example:90', 'b1 90 c.example:70', 'c1 70 b.example:90']), null)
})

t.test('ranges are a circle if a port leads back to itself', async t => {
  t.same(await circleOf(['a1 100-199 b.example:300', 'b1 350 a.example:150']), ['a1', 'b1'])
  t.same(await circleOf(['a1 100-199 b.example:300', 'b1 300-399 a.example:100']), ['a1', 'b1'])
  t.equal(await circleOf(['a1 100-199 b.example:300', 'b1 350 a.example:151']), null)
  t.equal(await circleOf(['a1 100-199 b.example:300', 'b1 400 a.example:100']), null)
  t.equal(await circleOf(['a1 100-199 a.example:101']), null)
})

t.test('rules for different server names are no circle', async t => {
  const named = (text: string, name: string) => parse(text, { name })
  const first = named('a1 443 b.example:443', 'shop.example')

  t.same(await circleOf([first, named('b1 443 a.example:443', 'shop.example')]), ['a1', 'b1'])
  t.same(await circleOf([first, named('b1 443 a.example:443', '*.example')]), ['a1', 'b1'])
  t.same(await circleOf([first, 'b1 443 a.example:443']), ['a1', 'b1'])
  t.equal(await circleOf([first, named('b1 443 a.example:443', 'blog.example')]), null)
})

t.test('a fallback takes no names that rules beside it have', async t => {
  const fallback = parse('b1 443 a.example:443', { isFallback: true })
  const first = parse('a1 443 b.example:443', { name: 'shop.example' })

  t.same(await circleOf([first, fallback]), ['a1', 'b1'])
  t.same(await circleOf([first, fallback, parse('b2 443 10.0.0.1:1', { name: 'blog.example' })]), [
    'a1',
    'b1'
  ])
  t.equal(await circleOf([first, fallback, parse('b2 443 10.0.0.1:1', { name: '*.example' })]), null)
})

t.test('the number of look-ups for one rule is bounded, whatever its targets', async t => {
  const rules = Array.from({ length: 32 }, (_, at) =>
    parse(`a${at} ${at} 10.0.0.1:1`, {
      targets: Array.from({ length: 32 }, (_, to) => ({ host: '127.0.0.1', port: 1000 + to }))
    })
  )
  let lookUps = 0
  const graph = {
    async listening() {
      lookUps += 1
      return rules.slice(1).map(rule => ({ ...rule, from: 0, to: 65_535 }))
    }
  }
  const [start] = rules
  if (start) await findCircle({ ...start, from: 0, to: 65_535 }, graph)

  t.equal(lookUps, 64)
})
