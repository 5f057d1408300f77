/** How a script obeys a turn's settings: which of its calls are made, and the call that is made where one is demanded. */
import { isCallType, owesAnswer } from '../calls.js';
import { isNamespaceTool, type Tool, type ToolChoice } from '../protocol/requests.js';
import { allowsCall, demandsCall } from '../tool-choice.js';
import type { ScriptItem } from './script.js';

/** A tool that a script can call. */
export interface CallableTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
  /** JSON Schema of the arguments, where declared. */
  readonly parameters: unknown;
}

/** Function and custom tools in order of declaration, those in namespaces included. */
export function callableTools(tools: readonly Tool[], namespace?: string): CallableTool[] {
  return tools.flatMap((tool): CallableTool[] => {
    if (isNamespaceTool(tool)) return callableTools(tool.tools, tool.name);
    if (!('name' in tool)) return [];
    if (tool.type === 'function')
      return [
        {
          type: 'function',
          name: tool.name,
          namespace,
          parameters: 'parameters' in tool ? tool.parameters : undefined,
        },
      ];
    return tool.type === 'custom'
      ? [{ type: 'custom', name: tool.name, namespace, parameters: undefined }]
      : [];
  });
}

function isCall(item: ScriptItem): boolean {
  return isCallType(item.type === 'opaque' ? item.item.type : item.type);
}

/** A call that the client has to answer: those that ran elsewhere are no parallel calls. */
function isOwed(item: ScriptItem): boolean {
  return isCall(item) && (item.type !== 'opaque' || owesAnswer(item.item));
}

/** Opaque calls go by their tool's type: `web_search` allows a `web_search_call`. */
function isAllowed(item: ScriptItem, choice: ToolChoice): boolean {
  if (!isCall(item)) return true;
  if (item.type === 'opaque') {
    if (typeof choice === 'string') return choice !== 'none';
    return (
      choice.type === 'allowed_tools' && choice.tools.some((tool) => item.item.type === `${tool.type}_call`)
    );
  }
  return 'name' in item && allowsCall(choice, item.name);
}

/** The call that a demand brings about where the script makes none: the first one allowed, with empty arguments. */
function demandedCall(choice: ToolChoice, tools: readonly Tool[]): ScriptItem {
  const tool = callableTools(tools).find(({ name }) => allowsCall(choice, name));
  if (tool === undefined)
    throw new Error('tool_choice demands a call, and no tool that it allows is declared');
  const { name, namespace } = tool;
  if (tool.type === 'function') return { type: 'function_call', name, namespace, arguments: '{}' };
  return { type: 'custom_tool_call', name, namespace, input: '' };
}

export interface TurnSettings {
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
}

/**
 * The items of a script turn that its settings let it say. Calls outside the choice are left out, and without parallel
 * calls all but the first. A demand that no call of the turn meets is met by one empty call and nothing else. A turn
 * that is left with nothing says "(no tool)".
 */
export function obey(
  items: readonly ScriptItem[],
  { toolChoice, parallelToolCalls }: TurnSettings,
  tools: readonly Tool[],
): readonly ScriptItem[] {
  const allowed = items.filter((item) => isAllowed(item, toolChoice));
  if (demandsCall(toolChoice) && !allowed.some(isCall)) return [demandedCall(toolChoice, tools)];
  const firstCall = allowed.find(isOwed);
  const said = parallelToolCalls ? allowed : allowed.filter((item) => item === firstCall || !isOwed(item));
  return said.length === 0 && items.length > 0 ? [{ type: 'message', text: '(no tool)' }] : said;
}
