// Labels as people write them: env=prod, one in each line.

export type Labels = Readonly<Record<string, string>>

export const labelLines = (labels: Labels): string => pairsOf(labels).join('\n')
export const labelText = (labels: Labels): string => pairsOf(labels).join(', ')

const pairsOf = (labels: Labels): readonly string[] =>
  Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`))

export function labelsIn(lines: string): Labels {
  const pairs = lines.split(/[\n,]/).flatMap(line => {
    const [key = '', ...rest] = line.split('=')
    return key.trim() === '' ? [] : [[key.trim(), rest.join('=').trim()] as const]
  })
  return Object.fromEntries(pairs)
}
