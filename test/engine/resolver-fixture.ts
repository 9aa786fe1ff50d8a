// A resolver with a fake clock and a table of DNS answers.
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Address, Lookup } from '../../agent/resolver/dns-lookup.ts'
import { openResolver } from '../../agent/resolver/resolver.ts'
import { type FakeClock, fakeClock } from '../../kit/fake-clock.ts'

export type Answer = readonly Address[] | string | Promise<readonly Address[]>

/** Opens a resolver with a table of answers, A then AAAA: addresses, or an error code. */
export function resolverFixture(t: Test, table: Record<string, readonly [four: Answer, six: Answer]> = {}) {
  const clock: FakeClock = fakeClock()
  const asked: string[] = []
  const lookup: Lookup = () => async (name, family) => {
    asked.push(`${name} ${family}`)
    const answer = table[name]?.[family === 4 ? 0 : 1] ?? 'ENOTFOUND'
    if (typeof answer === 'string') throw Object.assign(new Error(answer), { code: answer })
    return answer
  }
  const dir = t.testdir()
  const hosts = join(dir, 'hosts')
  const resolvConf = join(dir, 'resolv.conf')
  const resolver = openResolver({ clock, lookup, hosts, resolvConf })
  const answerOf = (host: string, owner = 'ann') => resolver.resolve(host, owner)
  const resolve = async (host: string, owner = 'ann') => {
    const { freshMs, usableMs, ...answer } = await answerOf(host, owner)
    return answer
  }
  return { clock, asked, table, hosts, resolvConf, resolve, answerOf }
}

export const a = (address: string, ttl = 60): Address[] => [{ address, ttl }]
export const never = new Promise<readonly Address[]>(() => {})
export const found = (...addresses: string[]) => ({ ok: true, addresses })
export const failed = (reason: string) => ({ ok: false, reason })
