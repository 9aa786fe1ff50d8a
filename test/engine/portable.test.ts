import t from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/index.ts'
import { cases, udpCases } from './cases.ts'

for (const [behaviour, play] of Object.entries({ ...cases, ...udpCases }))
  t.test(behaviour, t => play(t, openPortableEngine))
