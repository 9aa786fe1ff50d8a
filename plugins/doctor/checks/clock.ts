import { timestamp } from '../../../kernel/base/clock.ts'
import { defineCheck, type Finding } from '../../cli/check-exports.ts'

const aheadMs = 60_000

export const clock = defineCheck({
  name: 'clock',
  roles: ['server', 'agent'],
  findings: {
    'clock.behind': {
      status: 'fail',
      when: 'a client was enrolled or seen at a future time: if the clock is behind, expired sessions and codes are valid',
      remedy: 'set the clock and enable NTP'
    },
    'clock.unsynchronized': {
      status: 'warn',
      when: 'systemd reports that the clock is not synchronized',
      remedy: 'enable NTP: timedatectl set-ntp true, or install chrony'
    },
    'clock.zone_unknown': {
      status: 'warn',
      when: 'the time zone in TZ does not exist, so weekly hours of rules follow another time zone',
      remedy: 'correct TZ, or unset it'
    }
  },
  async run({ now, host, query }) {
    const found: Finding<'clock.behind' | 'clock.unsynchronized' | 'clock.zone_unknown'>[] = []
    const [row] = await query<{ seen: number | null; enrolled: number | null }>(
      'kernel_client',
      'select max(last_seen_at) as seen, max(enrolled_at) as enrolled from kernel_client'
    )
    const ahead = Math.max(row?.seen ?? 0, row?.enrolled ?? 0) - now
    if (ahead > aheadMs)
      found.push({
        id: 'clock.behind',
        message: `the store has a time ${Math.round(ahead / 1000)} s ahead of now`
      })
    const synchronized = await host.ask('timedatectl', 'show', '--property=NTPSynchronized', '--value')
    if (synchronized?.trim() === 'no')
      found.push({ id: 'clock.unsynchronized', message: 'the clock of this host is not synchronized' })
    const zone = process.env['TZ']?.replace(/^:/, '')
    if (zone !== undefined && zone !== '' && !isZone(zone))
      found.push({
        id: 'clock.zone_unknown',
        message: `TZ is ${JSON.stringify(zone)}, which is not a time zone`
      })
    return found.length > 0 ? found : [{ ok: `it is ${timestamp(now)}, later than all times in the store` }]
  }
})

/** Accepts names of the time zone database, paths of its files, and POSIX rules such as CET-1CEST. */
function isZone(zone: string): boolean {
  if (zone.startsWith('/') || /^(?:[A-Za-z]{3,}|<[\w+-]+>)[+-]?\d/.test(zone)) return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false // RangeError: invalid time zone
  }
}
