// Measures the wait of a caller for a rule made at one server for an agent at another.
import { setTimeout as pause } from 'node:timers/promises'
import { startFleet } from './agents.ts'
import { type Report, spread } from './checks.ts'
import { oneOf, ruleOf, type ServerPlace } from './server-place.ts'

const goalMs = 100
const restMs = 20

interface Options {
  readonly agents: number
  readonly pushes: number
}

export async function pushes(place: ServerPlace, report: Report, options: Options): Promise<void> {
  const fleet = await startFleet(place, options.agents)
  const [asked, ...others] = place.servers
  if (!asked) throw new RangeError('there are no servers')
  const where = await fleet.where()
  const across = others.flatMap(({ id }) => where.get(id) ?? [])
  const own = where.get(asked.id) ?? []
  await pause(5_000) // all servers have seen all agents
  const { waits: ownWaits } = await push(own, 0)
  const { waits, failed } = await push(across, 1)
  report.figure('a push to an agent of the same server', spread(ownWaits))
  report.figure('a push to an agent of another server', spread(waits))
  report.check('each push is answered by its agent', failed.length === 0, failed.slice(0, 5))
  const late = waits.filter(wait => wait > goalMs).length
  report.check(
    '99 of 100 pushes across servers take at most 100 ms',
    late <= waits.length / 100,
    `${late} later`
  )

  async function push(clientIds: readonly string[], round: number) {
    const waits: number[] = []
    const failed: unknown[] = []
    for (let at = 0; at < options.pushes; at++) {
      const body = ruleOf(oneOf(clientIds), 10_000 + round * options.pushes + at)
      const began = performance.now()
      const reply = await asked?.call({ method: 'POST', path: '/v1/rules', body })
      waits.push(performance.now() - began)
      if (reply?.status !== 201 || reply.body['state'] !== 'active') failed.push(reply)
      await pause(restMs)
    }
    return { waits, failed }
  }
}
