import { type Static, Type } from 'typebox'
import { pathProblem } from '../../kernel/platform/path-problem.ts'

export const config = Type.Object({
  to: Type.Optional(
    Type.Refine(
      Type.String({
        description:
          'Where lines go: file:/PATH, unix:/PATH (a stream socket that listens), or stdout. Default: nowhere.'
      }),
      text => problemOf(text) === null,
      text => problemOf(text) ?? ''
    )
  ),
  ended_share: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 1,
    description: 'Share of the ended connections and flows that get a line.'
  }),
  refused_share: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 1,
    description: 'Share of the refused callers that get a line.'
  }),
  max_lines_per_sec: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description: 'Lines beyond it are dropped; a later line has their count.'
  }),
  max_file_bytes: Type.Integer({
    minimum: 65_536,
    default: 1_073_741_824,
    description: 'A file of this size gets no more lines until it is rotated.'
  })
})

function problemOf(to: string): string | null {
  if (to === 'stdout') return null
  const [, path] = /^(?:file|unix):(.*)$/s.exec(to) ?? []
  if (path === undefined) return `must be file:/PATH, unix:/PATH or stdout, got ${JSON.stringify(to)}`
  return pathProblem(path)
}

export type Config = Static<typeof config>
