import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { cases, udpCases } from './cases.ts'

for (const [behaviour, run] of Object.entries({ ...cases, ...udpCases }))
  t.test(behaviour, t => run(t, openPortableEngine))
