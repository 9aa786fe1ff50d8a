import t from 'tap'
import type { PushOptions } from '../../rules/command-slots.ts'
import { fills } from '../commands.ts'

/** Returns the part of a request that the options make. */
async function bodyOf(args: object): Promise<object> {
  const options = fills.map(({ make }) => make(() => ({})) as PushOptions)
  const bodies = options.map(async ({ body }) => body(args as never, {} as never)) // they call no API
  return Object.assign({}, ...(await Promise.all(bodies)))
}

t.test('times are options of rule push', async t => {
  t.same(
    await bodyOf({ not_before: '2099-01-01T00:00:00Z', expires_at: '2099-02-01T00:00:00Z', at_end: 'cut' }),
    {
      not_before: '2099-01-01T00:00:00Z',
      expires_at: '2099-02-01T00:00:00Z',
      at_end: 'cut'
    }
  )
  t.same(await bodyOf({}), {})
})

t.test('weekly hours are days and a span of time', async t => {
  t.same(
    await bodyOf({ hours: ['mon-wed,fri 08:00-18:00', 'sun-mon 20:00-24:00'], time_zone: 'Europe/Paris' }),
    {
      schedule: {
        time_zone: 'Europe/Paris',
        windows: [
          { days: ['mon', 'tue', 'wed', 'fri'], from: '08:00', to: '18:00' },
          { days: ['sun', 'mon'], from: '20:00', to: '24:00' }
        ]
      }
    }
  )
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  t.match(await bodyOf({ hours: ['sat 10:00-11:00'] }), { schedule: { time_zone: timeZone } })
})

t.test('hours that are not understood are refused with an example', async t => {
  for (const hours of ['weekdays 08:00-18:00', 'mon 8-18', 'mon-tue-wed 08:00-18:00', 'mon', ''])
    await t.rejects(bodyOf({ hours: [hours] }), { message: /such as 'mon-fri 08:00-18:00'/ }, hours)
  await t.rejects(bodyOf({ time_zone: 'UTC' }), { message: '--time-zone is for --hours: give both' })
})
