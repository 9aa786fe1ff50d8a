import t from 'tap'
import { LineShares } from '../line-shares.ts'

const addAll = (shares: LineShares, owner: string, lines: number): number =>
  Array.from({ length: lines }, () => shares.add(owner)).filter(Boolean).length

t.test('an owner that is alone gets three quarters of the lines', t => {
  t.equal(addAll(new LineShares(100), 'ann', 200), 75)
  t.equal(addAll(new LineShares(1), 'ann', 200), 1)
  t.end()
})

t.test('a flood of one owner leaves lines to an owner that had none', t => {
  const shares = new LineShares(100)
  addAll(shares, 'ann', 200)

  t.equal(addAll(shares, 'bob', 15), 15)
  t.equal(addAll(shares, 'ann', 200), 0)
  for (let line = 0; line < 60; line++) shares.remove('ann')
  t.equal(addAll(shares, 'ann', 200), 49)
  t.end()
})

t.test('floods of three owners leave lines to a fourth', t => {
  const shares = new LineShares(1000)
  for (const owner of ['ann', 'cem', 'dee']) addAll(shares, owner, 1000)

  t.equal(addAll(shares, 'bob', 10), 10)
  t.end()
})
