// The native engine passes every case of the portable one, without exceptions.
import t from 'tap'
import { cases, udpCases } from './cases.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else
  for (const [behaviour, run] of Object.entries({ ...cases, ...udpCases }))
    t.test(behaviour, t => run(t, native.openEngine))
