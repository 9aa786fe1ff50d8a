import t from 'tap'
import { openHashPool } from '../hash-pool.ts'

/** Works that end when the test says so, and what became of each. */
function hold() {
  const ends: (() => void)[] = []
  return { ends, work: () => new Promise<void>(resolve => ends.push(resolve)) }
}

t.test('two run, so many wait, the rest are told when to come again', async t => {
  const { ends, work } = hold()
  const turn = openHashPool(2, 3)

  const taken = Array.from({ length: 5 }, () => turn(work))
  const refusal = await turn(work).catch((error: unknown) => error)
  t.match(refusal, { errorCode: { code: 'busy', http: 503 }, details: { retry_after_secs: 1 } })
  t.throws(turn.refuseFull, { message: /too many passwords/ })

  t.equal(ends.length, 2)
  for (let i = 0; i < 5; i++) {
    ends[i]?.()
    await taken[i]
  }
  t.equal(ends.length, 5)
  t.doesNotThrow(turn.refuseFull)
})

t.test('a turn that fails is given back', async t => {
  const turn = openHashPool(1, 0)

  await t.rejects(
    turn(async () => {
      throw new Error('no')
    })
  )

  t.equal(await turn(async () => 7), 7)
})

t.test('a password is kept as Argon2id, and weaker parameters are seen', async t => {
  const turn = openHashPool()
  const hash = await turn(argon => argon.hash('correct horse battery'))

  t.match(hash, /^\$argon2id\$v=19\$m=19456,p=1,t=2\$/)
  t.equal(await turn(argon => argon.verify(hash, 'correct horse battery')), true)
  t.equal(await turn(argon => argon.verify(hash, 'correct horse')), false)
  t.equal(await turn(argon => argon.verify(null, 'correct horse battery')), false)
  t.equal(await turn(async argon => argon.isOutdated(hash)), false)
  t.equal(await turn(async argon => argon.isOutdated(hash.replace('m=19456', 'm=8192'))), true)
})
