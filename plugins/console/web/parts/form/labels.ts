// Parses and formats labels: env=prod, one per line.

export type Labels = Readonly<Record<string, string>>

export const labelLines = (labels: Labels): string => toPairs(labels).join('\n')
export const labelText = (labels: Labels): string => toPairs(labels).join(', ')

const toPairs = (labels: Labels): readonly string[] =>
  Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`))

export function parseLabels(lines: string): Labels {
  const pairs = lines.split(/[\n,]/).flatMap(line => {
    const [key = '', ...rest] = line.split('=')
    return key.trim() === '' ? [] : [[key.trim(), rest.join('=').trim()] as const]
  })
  return Object.fromEntries(pairs)
}
