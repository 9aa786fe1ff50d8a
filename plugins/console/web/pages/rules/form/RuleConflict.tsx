import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { QueryResult } from '../../../parts/QueryResult.tsx'
import { type Schemas, titleOf } from '../../../parts/schema-form/schema.ts'
import { isSame, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Rule } from '../queries.ts'
import { diffValues, toValues } from './rule-values.ts'

interface Props {
  readonly before: Values // the rule when the form opened
  readonly schemas: Schemas
  readonly path: { readonly rule_id: string }
  readonly changes: Values // the user's, not saved
  readonly isBusy: boolean
  readonly onSave: (changes: Values, etag: string) => void
  readonly onDiscard: (rule: Rule) => void
}

/** Shows an edit conflict. The user chooses a value for each field that both sides changed. */
export function RuleConflict({ path, ...props }: Props) {
  const theirs = useQuery({
    queryKey: ['rule', path.rule_id, 'conflict'],
    queryFn: () => call('GET /v1/rules/{rule_id}', { path }),
    staleTime: 0
  })
  return (
    <Alert color="orange" variant="default" role="alert" title={text.ruleForm.conflict} mb="lg">
      <QueryResult query={theirs}>{rule => <ConflictTable {...props} theirs={rule} />}</QueryResult>
    </Alert>
  )
}

function ConflictTable({
  before,
  schemas,
  changes,
  theirs,
  isBusy,
  onSave,
  onDiscard
}: Omit<Props, 'path'> & { readonly theirs: Rule }) {
  const current = toValues(theirs, schemas)
  const theirChanges = diffValues(before, current)
  const keys = [...new Set([...Object.keys(theirChanges), ...Object.keys(changes)])]
  const [theirKeys, setTheirKeys] = useState<ReadonlySet<string>>(new Set()) // fields that keep their current value
  const yours = Object.fromEntries(Object.entries(changes).filter(([key]) => !theirKeys.has(key)))
  return (
    <Stack gap="sm">
      <Text size="sm">{text.ruleForm.conflictHint}</Text>
      <div className="versions">
        <table>
          <thead>
            <tr>
              <th scope="col">{text.ruleForm.field}</th>
              <th scope="col">{text.ruleForm.before}</th>
              <th scope="col">{text.ruleForm.theirs}</th>
              <th scope="col">{text.ruleForm.yours}</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(key => (
              <FieldRow
                key={key}
                name={text.fields[key] ?? titleOf(key, {})}
                before={before[key]}
                theirs={current[key]}
                yours={key in changes ? { value: changes[key] } : null}
                isTheirs={theirKeys.has(key)}
                onChoose={isTheirs => {
                  const next = new Set(theirKeys)
                  isTheirs ? next.add(key) : next.delete(key)
                  setTheirKeys(next)
                }}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Group>
        <Button
          loading={isBusy}
          disabled={Object.keys(yours).length === 0}
          onClick={() => onSave(yours, theirs.etag)}
        >
          {text.ruleForm.saveYours}
        </Button>
        <Button variant="default" onClick={() => onDiscard(theirs)}>
          {text.ruleForm.discardYours}
        </Button>
      </Group>
    </Stack>
  )
}

interface FieldRowProps {
  readonly name: string
  readonly before: unknown
  readonly theirs: unknown
  readonly yours: { readonly value: unknown } | null // null: the user did not change it
  readonly isTheirs: boolean
  readonly onChoose: (isTheirs: boolean) => void
}

function FieldRow({ name, before, theirs, yours, isTheirs, onChoose }: FieldRowProps) {
  const isChangedByBoth = yours !== null && !isSame(before, theirs)
  const choice = (isTheirValue: boolean, value: unknown) =>
    isChangedByBoth ? (
      <label>
        <input
          type="radio"
          name={`version-${name}`}
          checked={isTheirs === isTheirValue}
          onChange={() => onChoose(isTheirValue)}
        />{' '}
        {format(value)}
      </label>
    ) : (
      format(value)
    )
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{format(before)}</td>
      <td>{choice(true, theirs)}</td>
      <td>{yours === null ? '–' : choice(false, yours.value)}</td>
    </tr>
  )
}

const format = (value: unknown): string => {
  if (value === undefined || value === null) return text.ruleForm.none
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
