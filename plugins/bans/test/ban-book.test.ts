// The agent's bans alone: shares, ends, and changes for the engine.
import t from 'tap'
import { BanBook } from '../ban-book.ts'
import { DueTimes } from '../due-times.ts'
import { type Ban, maxBansPerRule, maxRuleBans, repeatMs } from '../wire.ts'

const idOf = (at: number): string => String(at).padStart(26, '0')
const sourceOf = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`
const ban = (at: number, more: Partial<Ban> = {}): Ban => ({
  id: idOf(at),
  source: sourceOf(at),
  rule_id: 'rule',
  cause: 'new_connections',
  live: 'cut',
  times: 1,
  from_ms: 0,
  until_ms: 10_000,
  ...more
})
const byOperator = (at: number): Ban => ban(at, { rule_id: '', cause: 'operator', until_ms: 1 })
const idsIn = (book: BanBook): string[] => book.inForce(0).map(({ id }) => id)

t.test('a flood of bans of one rule evicts only its own, the oldest first', t => {
  const book = new BanBook()
  book.put(byOperator(1))
  book.put(ban(2, { rule_id: 'other', until_ms: 1 }))

  const evicted = Array.from({ length: 3 * maxBansPerRule }, (_, i) => book.put(ban(10 + i)))

  t.same(
    evicted.flatMap(one => one?.id ?? []),
    Array.from({ length: 2 * maxBansPerRule }, (_, i) => idOf(10 + i))
  )
  t.equal(book.inForce(0).length, maxBansPerRule + 2)
  t.same(idsIn(book).slice(0, 2), [idOf(1), idOf(2)])
  t.end()
})

t.test('beyond the bound of a client, the owner with the most bans loses the oldest', t => {
  const book = new BanBook()
  const rulesOfAnn = maxRuleBans / maxBansPerRule
  for (let rule = 0; rule < rulesOfAnn; rule++) book.shares.setOwner(`ann ${rule}`, 'ann')
  book.shares.setOwner('bob', 'bob')
  for (let at = 0; at < maxRuleBans; at++) book.put(ban(at, { rule_id: `ann ${at % rulesOfAnn}` }))
  t.equal(book.inForce(0).length, maxRuleBans)

  const evicted = Array.from({ length: maxBansPerRule }, (_, i) =>
    book.put(ban(maxRuleBans + i, { rule_id: 'bob' }))
  )

  t.same(
    evicted.map(one => one?.id),
    Array.from({ length: maxBansPerRule }, (_, i) => idOf(i))
  )
  t.match(book.put(ban(9999, { rule_id: 'bob' })), { id: idOf(maxRuleBans) }, 'then bob has his share')
  t.equal(book.inForce(0).length, maxRuleBans)
  for (let at = 0; at < maxRuleBans; at++) book.put(byOperator(20_000 + at))
  t.equal(book.inForce(0).length, 2 * maxRuleBans, 'bans of operators do not count')
  t.end()
})

t.test('bans that are loaded before their rules count for the owners once the rules are in force', t => {
  const book = new BanBook()
  for (let at = 0; at < maxRuleBans; at++) book.put(ban(at, { rule_id: at < 400 ? 'bob' : `ann ${at % 10}` }))
  for (let rule = 0; rule < 10; rule++) book.shares.setOwner(`ann ${rule}`, 'ann')
  book.shares.setOwner('bob', 'bob')

  t.match(book.put(ban(9000, { rule_id: 'bob' })), { rule_id: /^ann / })
  t.end()
})

t.test('a ban that was made before all bans of a full rule is not added', t => {
  const book = new BanBook()
  for (let at = 0; at < maxBansPerRule; at++) book.put(ban(10 + at))
  const older = ban(1)

  t.equal(book.put(older), older)
  t.equal(book.get(older.id), undefined)
  t.equal(book.put(ban(10, { until_ms: 20_000 })), null, 'a known ban is replaced')
  t.equal(book.inForce(0).length, maxBansPerRule)
  t.end()
})

t.test('the engine gets only sources that become banned or free', t => {
  const book = new BanBook()
  book.put(ban(1))
  book.put(ban(2))
  t.same(book.takeChanges(0), [{ set: 'bans rule', add: [sourceOf(1), sourceOf(2)], remove: [] }])
  book.put(ban(3, { source: sourceOf(1), until_ms: 20_000 }))
  t.same(book.takeChanges(0), [])
  book.delete(idOf(2))
  t.same(book.takeChanges(0), [{ set: 'bans rule', add: [], remove: [sourceOf(2)] }])
  t.equal(book.nextDue(), 10_000)
  t.same(book.takeChanges(10_000), [], 'another ban of the source is in force')
  t.same(book.takeChanges(20_000), [{ set: 'bans rule', add: [], remove: [sourceOf(1)] }])
  t.match(book.nextBan(sourceOf(1), 'rule', { for_secs: 1 }, 20_000), { times: 2, until_ms: 22_000 })
  t.same(book.takeChanges(15_000), [{ set: 'bans rule', add: [sourceOf(1)], remove: [] }], 'time set back')
  t.same(book.takeChanges(20_000 + repeatMs), [{ set: 'bans rule', add: [], remove: [sourceOf(1)] }])
  t.equal(book.get(idOf(3)), undefined, 'forgotten after a day')
  t.equal(book.nextDue(), null)
  t.end()
})

t.test('due times come in order, and only the last time of a key counts', t => {
  const due = new DueTimes()
  const expected = new Map<string, number>()
  for (let i = 0; i < 2_000; i++) {
    const key = `key ${i % 300}`
    const at = (i * 7_919) % 1_009
    due.set(key, at)
    expected.set(key, at)
  }
  for (let i = 0; i < 300; i += 3) {
    due.delete(`key ${i}`)
    expected.delete(`key ${i}`)
  }

  const taken: number[] = []
  t.equal(due.takeDue(-1), undefined)
  for (let key = due.takeDue(2_000); key !== undefined; key = due.takeDue(2_000))
    taken.push(expected.get(key) ?? Number.NaN)

  t.same(
    taken,
    [...expected.values()].sort((a, b) => a - b)
  )
  t.equal(due.next(), null)
  t.end()
})

t.test('the ban of an IPv4 address is found for the forms that translators give it', async t => {
  const book = new BanBook()
  book.put(ban(1, { source: '203.0.113.5', rule_id: 'r1' }))
  for (const address of ['203.0.113.5', '::ffff:203.0.113.5', '64:ff9b::cb00:7105', '2002:cb00:7105::1'])
    t.equal(book.longestBan(address, 'r1', 0)?.source, '203.0.113.5', address)
  t.equal(book.longestBan('64:ff9b::cb00:7106', 'r1', 0), undefined)
})
