import { Checkbox, Group, Input, ScrollArea, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { rows } from '../../api/call.ts'
import type { ControlProps } from '../../parts/form/fields.ts'
import { QueryResult } from '../../parts/QueryResult.tsx'

interface Props extends ControlProps<readonly string[]> {
  readonly description?: string | undefined
}

/** Scopes to choose from: a line for each area of the server, also those of plugins. */
export function ScopesField({ label, description, value, onChange, error }: Props) {
  const scopes = useQuery({ queryKey: ['scopes'], queryFn: () => rows('GET /v1/scopes') })
  const toggle = (scope: string, isChosen: boolean): void =>
    onChange(isChosen ? [...value, scope] : value.filter(other => other !== scope))
  return (
    <Input.Wrapper label={label} description={description} error={error} role="group">
      <QueryResult query={scopes}>
        {known => (
          <ScrollArea.Autosize mah="16rem" mt={4} type="auto">
            <Stack gap={4}>
              {[...Map.groupBy(known, ({ scope }) => areaOf(scope))].map(([area, found]) => (
                <Group key={area} gap="md" wrap="nowrap">
                  {found.map(({ scope }) => (
                    <Checkbox
                      key={scope}
                      label={scope}
                      w="50%"
                      checked={value.includes(scope)}
                      onChange={({ currentTarget: { checked } }) => toggle(scope, checked)}
                    />
                  ))}
                </Group>
              ))}
            </Stack>
          </ScrollArea.Autosize>
        )}
      </QueryResult>
    </Input.Wrapper>
  )
}

/** The scopes for all areas are one line at the top. */
const areaOf = (scope: string): string => scope.split(':', 1)[0] ?? ''
