// The native engine plays every case that the portable one plays; there is no list of exceptions.
import t from 'tap'
import { cases, udpCases } from './cases.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else
  for (const [behaviour, play] of Object.entries({ ...cases, ...udpCases }))
    t.test(behaviour, t => play(t, native.openEngine))
