// Weekly hours in a time zone: which instants are open, and when the next change is.
import t from 'tap'
import type { Hours } from '../fields.ts'
import { days } from '../fields.ts'
import { isOpenAt, nextChange } from '../weekly-hours.ts'

const every = (from: string, to: string, time_zone: string): Hours => ({
  time_zone,
  windows: [{ days: [...days], from, to }]
})
const weekdays = (time_zone: string): Hours => ({
  time_zone,
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '18:00' }]
})

t.test('the clocks of the zone decide, in summer and in winter', async t => {
  for (const [hours, instant, isOpen] of [
    [weekdays('UTC'), '2026-01-15T08:00:00Z', true],
    [weekdays('UTC'), '2026-01-15T07:59:59.999Z', false],
    [weekdays('UTC'), '2026-01-15T17:59:59Z', true],
    [weekdays('UTC'), '2026-01-15T18:00:00Z', false],
    [weekdays('UTC'), '2026-01-17T12:00:00Z', false],
    [weekdays('Europe/Paris'), '2026-01-15T07:30:00Z', true],
    [weekdays('Europe/Paris'), '2026-07-15T06:30:00Z', true],
    [weekdays('Europe/Paris'), '2026-01-15T06:30:00Z', false],
    [weekdays('Asia/Tokyo'), '2026-01-18T23:30:00Z', true],
    [weekdays('Asia/Kolkata'), '2026-01-15T02:30:00Z', true],
    [every('22:00', '24:00', 'UTC'), '2026-01-15T23:59:59Z', true],
    [every('22:00', '24:00', 'UTC'), '2026-01-15T00:00:00Z', false]
  ] as const)
    t.equal(isOpenAt(hours, Date.parse(instant)), isOpen, `${hours.time_zone} ${instant}`)
})

/** Returns all changes between two instants. */
function changes(hours: Hours, from: string, to: string): string[] {
  const found: string[] = []
  for (
    let at = nextChange(hours, Date.parse(from));
    at !== null && at < Date.parse(to);
    at = nextChange(hours, at)
  )
    found.push(`${isOpenAt(hours, at) ? 'opens' : 'closes'} ${new Date(at).toISOString().slice(0, 16)}`)
  return found
}

t.test('the next change is the next start or end of a window', async t => {
  t.strictSame(changes(weekdays('UTC'), '2026-01-16T12:00:00Z', '2026-01-20T00:00:00Z'), [
    'closes 2026-01-16T18:00',
    'opens 2026-01-19T08:00',
    'closes 2026-01-19T18:00'
  ])
  const overMidnight: Hours = {
    time_zone: 'UTC',
    windows: [
      { days: ['fri'], from: '22:00', to: '24:00' },
      { days: ['sat'], from: '00:00', to: '04:00' }
    ]
  }
  t.strictSame(changes(overMidnight, '2026-01-16T12:00:00Z', '2026-01-20T00:00:00Z'), [
    'opens 2026-01-16T22:00',
    'closes 2026-01-17T04:00'
  ])
  t.equal(nextChange(every('00:00', '24:00', 'Europe/Paris'), Date.parse('2026-03-20T00:00:00Z')), null)
})

t.test('a window that starts in the skipped hour of spring opens right after it', async t => {
  const day = ['2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z'] as const // 02:00 is 03:00 on the 29th
  t.strictSame(changes(every('02:30', '05:00', 'Europe/Paris'), ...day), [
    'opens 2026-03-29T01:00',
    'closes 2026-03-29T03:00'
  ])
  t.strictSame(changes(every('01:00', '02:30', 'Europe/Paris'), ...day), [
    'opens 2026-03-29T00:00',
    'closes 2026-03-29T01:00'
  ])
  t.strictSame(changes(every('02:10', '02:50', 'Europe/Paris'), ...day), [], 'a window in the skipped hour')
  t.strictSame(changes(weekdays('Europe/Paris'), '2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z'), [
    'closes 2026-03-27T17:00',
    'opens 2026-03-30T06:00'
  ])
})

t.test('a time that clocks show twice in autumn is in its window both times', async t => {
  const day = ['2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z'] as const // 03:00 is 02:00 again on the 25th
  t.strictSame(changes(every('02:30', '05:00', 'Europe/Paris'), ...day), [
    'opens 2026-10-25T00:30',
    'closes 2026-10-25T01:00',
    'opens 2026-10-25T01:30',
    'closes 2026-10-25T04:00'
  ])
  t.strictSame(changes(every('01:00', '02:30', 'Europe/Paris'), ...day), [
    'opens 2026-10-24T23:00',
    'closes 2026-10-25T00:30',
    'opens 2026-10-25T01:00',
    'closes 2026-10-25T01:30'
  ])
  t.strictSame(changes(every('01:00', '05:00', 'Europe/Paris'), ...day), [
    'opens 2026-10-24T23:00',
    'closes 2026-10-25T04:00'
  ])
  t.strictSame(
    changes(every('01:45', '02:15', 'Australia/Lord_Howe'), '2026-04-04T12:00:00Z', '2026-04-05T12:00:00Z'),
    ['opens 2026-04-04T14:45', 'closes 2026-04-04T15:00', 'opens 2026-04-04T15:15', 'closes 2026-04-04T15:45']
  )
})

t.test('computed changes match a check of every minute over a year, in various zones', async t => {
  const minute = 60_000
  for (const zone of ['America/New_York', 'Africa/Casablanca', 'Asia/Kathmandu', 'Pacific/Apia']) {
    const hours: Hours = {
      time_zone: zone,
      windows: [
        { days: ['sun', 'mon'], from: '01:17', to: '03:03' },
        { days: ['wed'], from: '00:00', to: '24:00' }
      ]
    }
    const start = Date.parse('2026-01-01T00:00:00Z')
    const end = Date.parse('2027-01-01T00:00:00Z')
    let at = nextChange(hours, start) ?? end
    let isOpen = isOpenAt(hours, start)
    let wrong = 0
    for (let now = start; now < end; now += 15 * minute) {
      if (now >= at) {
        isOpen = isOpenAt(hours, at)
        at = nextChange(hours, at) ?? end
        if (now >= at) {
          isOpen = isOpenAt(hours, at)
          at = nextChange(hours, at) ?? end
        }
      }
      if (isOpen !== isOpenAt(hours, now)) wrong++
    }
    t.equal(wrong, 0, zone)
  }
})
