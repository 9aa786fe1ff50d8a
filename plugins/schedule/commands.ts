// The options of `rule push` for times.
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { pushOptions, pushOptionsSlot } from '../rules/command-exports.ts'
import { atEnd, days, expiresAt, type Hours, notBefore } from './fields.ts'

const hours = pushOptionsSlot.fill({
  args: {
    hours: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "Weekly hours: 'mon-fri 08:00-18:00', 'sat,sun 10:00-14:00'. The rule is closed outside them."
      })
    ),
    time_zone: Type.Optional(
      Type.String({ description: 'IANA name of the zone of --hours. Default: that of this machine.' })
    )
  },
  body({ hours, time_zone }) {
    if (!Array.isArray(hours)) {
      if (time_zone !== undefined) throw new Fault(wrongUsage, '--time-zone is for --hours: give both')
      return {}
    }
    const zone = time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
    return { schedule: { time_zone: zone, windows: hours.map(text => parseWindow(String(text))) } }
  }
})

export const fills = [pushOptions(notBefore, expiresAt, atEnd), hours]

/** Parses 'mon-fri 08:00-18:00'. The server checks the times. */
function parseWindow(text: string): Hours['windows'][number] {
  const [, given = '', from = '', to = ''] = /^(\S+) (\d\d:\d\d)-(\d\d:\d\d)$/.exec(text) ?? []
  const found = given.split(',').map(parseDays)
  if (from === '' || found.includes(null))
    throw new Fault(wrongUsage, `--hours ${text} is not DAYS FROM-TO, such as 'mon-fri 08:00-18:00'`)
  return { days: [...new Set(found.flatMap(some => some ?? []))], from, to }
}

/** Returns the days of 'sat' or 'mon-fri', or null. A range may pass the end of the week. */
function parseDays(text: string): Hours['windows'][number]['days'] | null {
  const [first = '', last = first, ...more] = text.split('-')
  const known: readonly string[] = days
  const from = known.indexOf(first)
  const to = known.indexOf(last)
  if (from < 0 || to < 0 || more.length > 0) return null
  return [...days, ...days].slice(from, (to < from ? to + days.length : to) + 1)
}
