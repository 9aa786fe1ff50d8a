import t from 'tap'
import { currentPayer } from '../../../kernel/base/request-id.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { fakeCpuTime } from '../../../test/support/cpu-time.ts'
import { openWorkBudgets, WorkBudget } from '../listener/work-budget.ts'

t.test('work is charged, nested work once', t => {
  const { burn } = fakeCpuTime(t)
  const budget = new WorkBudget(fakeClock())

  t.ok(budget.isUnused)
  budget.spend(() => budget.spend(() => burn(600)))

  t.notOk(budget.isUnused)
  t.notOk(budget.isExceeded, 'some work is free')
  t.end()
})

t.test('the user who asked an agent pays for its answer, so that the agent can serve others', t => {
  const { burn } = fakeCpuTime(t)
  const budget = new WorkBudget(fakeClock())
  let paidMs = 0
  const payer = {
    name: 'user ann',
    charge: (ms: number) => {
      paidMs += ms
    }
  }

  currentPayer.run(payer, () => budget.spendOn(2_000, () => burn(20)))

  t.equal(paidMs, 20)
  t.ok(budget.isUnused)
  t.end()
})

t.test('a small message is charged a constant, and nothing within other work', t => {
  const budget = new WorkBudget(fakeClock())
  const usage = process.threadCpuUsage
  let looks = 0
  process.threadCpuUsage = before => {
    looks++
    return usage.call(process, before)
  }
  t.teardown(() => {
    process.threadCpuUsage = usage
  })

  budget.spend(() => budget.spendOn(1023, () => {}))
  t.equal(looks, 2)
  for (let small = 0; small <= 100_000; small++) budget.spendOn(1023, () => {})
  t.equal(looks, 2)
  t.ok(budget.isExceeded, 'a flood of them is one')
  budget.spendOn(1024, () => {})
  t.equal(looks, 4)
  t.end()
})

t.test(
  'a message on a spent budget is handled, and the next one waits until the budget is regained',
  async t => {
    const clock = fakeClock()
    const budget = new WorkBudget(clock)
    const order: string[] = []
    const handler = budget.handler({
      name: 'work',
      async run() {
        order.push('handled')
        return null
      }
    })
    budget.charge(1_100)

    const handled = handler.run(undefined as never, new Uint8Array()).then(() => order.push('next'))
    await clock.advance(900)
    t.same(order, ['handled'])
    await clock.advance(5_000)
    await handled

    t.same(order, ['handled', 'next'])
  }
)

t.test('a budget that stays exceeded for 30 s is overrun, one that was regained is not', async t => {
  const clock = fakeClock()
  const [constant, once] = [new WorkBudget(clock), new WorkBudget(clock)]
  once.charge(1_100)
  constant.charge(1_500)

  for (let secs = 0; secs < 30; secs++) {
    t.notOk(constant.isOverrun)
    await clock.advance(1_000)
    constant.charge(150)
  }
  await clock.advance(1_000)

  t.ok(constant.isOverrun)
  t.notOk(once.isOverrun)
})

t.test('a client has one budget for all its streams; unused budgets are dropped', t => {
  const budgets = openWorkBudgets(fakeClock())
  const first = budgets.of('client')
  first.charge(100)

  budgets.sweep(() => false)
  t.equal(budgets.of('client'), first)

  const unused = budgets.of('other')
  budgets.sweep(key => key === 'other')
  t.equal(budgets.of('other'), unused, 'one that a stream uses stays')
  budgets.sweep(() => false)
  t.not(budgets.of('other'), unused)
  t.end()
})
