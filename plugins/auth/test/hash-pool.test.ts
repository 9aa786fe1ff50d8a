import t from 'tap'
import { openHashPool } from '../password/hash-pool.ts'

/** Returns work that ends when the test calls its entry in `ends`. */
function pendingWork() {
  const ends: (() => void)[] = []
  return { ends, work: () => new Promise<void>(resolve => ends.push(resolve)) }
}

t.test('some hashes run, some wait, and the rest are refused with a time to retry', async t => {
  const { ends, work } = pendingWork()
  const hashPool = openHashPool(2, 3)

  const running = Array.from({ length: 5 }, () => hashPool.run(work))
  const refusal = await hashPool.run(work).catch((error: unknown) => error)
  t.match(refusal, { errorCode: { code: 'busy', http: 503 }, details: { retry_after_secs: 1 } })
  t.throws(hashPool.refuseIfFull, { message: /too many passwords/ })

  t.equal(ends.length, 2)
  for (let i = 0; i < 5; i++) {
    ends[i]?.()
    await running[i]
  }
  t.equal(ends.length, 5)
  t.doesNotThrow(hashPool.refuseIfFull)
})

t.test('a flood of one address or one subject makes room for others, and for nobody else', async t => {
  const floods = [
    (i: number) => ({ address: '198.51.100.7', subject: `guess-${i}` }),
    (i: number) => ({ address: `198.51.100.${i}`, subject: 'root' })
  ]
  for (const originOf of floods) {
    const { ends, work } = pendingWork()
    const hashPool = openHashPool(1, 4)
    const flood = Array.from({ length: 5 }, (_, i) => hashPool.run(work, originOf(i)))
    const refusals: number[] = []
    for (const [i, one] of flood.entries()) one.catch(() => refusals.push(i))
    const others = [1, 2].map(i => ({ address: `203.0.113.${i}`, subject: `user-${i}` }))

    t.throws(() => hashPool.refuseIfFull(originOf(9)), { message: /too many passwords/ })
    await t.rejects(hashPool.run(work, originOf(9)), { message: /too many passwords/ })
    const served = others.map(origin => hashPool.run(work, origin))

    for (let i = 0; i < 5; i++) {
      ends[i]?.()
      await new Promise(resolve => setImmediate(resolve))
    }
    await Promise.all(served)
    t.strictSame(refusals, [4, 3], 'the latest of the flood')
  }
})

t.test('failed work frees its slot', async t => {
  const hashPool = openHashPool(1, 0)

  await t.rejects(
    hashPool.run(async () => {
      throw new Error('no')
    })
  )

  t.equal(await hashPool.run(async () => 7), 7)
})

t.test('a password is hashed with Argon2id, and outdated parameters are detected', async t => {
  const hashPool = openHashPool()
  const hash = await hashPool.run(argon => argon.hash('correct horse battery'))

  t.match(hash, /^\$argon2id\$v=19\$m=19456,p=1,t=2\$/)
  t.equal(await hashPool.run(argon => argon.verify(hash, 'correct horse battery')), true)
  t.equal(await hashPool.run(argon => argon.verify(hash, 'correct horse')), false)
  t.equal(await hashPool.run(argon => argon.verify(null, 'correct horse battery')), false)
  t.equal(await hashPool.run(async argon => argon.isOutdated(hash)), false)
  t.equal(await hashPool.run(async argon => argon.isOutdated(hash.replace('m=19456', 'm=8192'))), true)
})
