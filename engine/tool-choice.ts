/** What `tool_choice` lets a turn do. */
import type { CreateRequest, ToolChoice } from './protocol/requests.js';

/** The choice for one turn: a demand (`required`, a named tool) binds the first turn of a rollout only. */
export function choiceForTurn(request: CreateRequest, turn: number): ToolChoice {
  const choice = request.tool_choice ?? 'auto';
  if (turn === 1 || choice === 'none' || choice === 'auto') return choice;
  if (choice === 'required') return 'auto';
  return choice.type === 'allowed_tools' ? { ...choice, mode: 'auto' } : 'auto';
}

export function demandsCall(choice: ToolChoice): boolean {
  if (typeof choice === 'string') return choice === 'required';
  return choice.type !== 'allowed_tools' || choice.mode === 'required';
}

export function allowsCall(choice: ToolChoice, name: string): boolean {
  if (typeof choice === 'string') return choice !== 'none';
  if (choice.type === 'allowed_tools') return choice.tools.some((tool) => tool.name === name);
  return choice.name === name;
}
